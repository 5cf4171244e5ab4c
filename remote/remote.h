// Files of hubs, buckets and servers, read wherever a path is accepted: hf://, s3://, https://; and
// requests to them. The only header of this folder that others include.
#pragma once

#include "remote/credentials.h"
#include "remote/foreign_text.h"
#include "remote/http.h"
#include "remote/hub.h"
#include "remote/rate_limit.h"
#include "remote/s3.h"
#include "remote/s3_sign.h"
#include "remote/url.h"

namespace ckpt {

// Lets core/io open URLs. No connection is made before a URL is opened.
void open_urls();

}  // namespace ckpt
