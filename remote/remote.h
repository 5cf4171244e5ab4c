// Files of hubs, buckets and servers, read where a path is: hf://, s3://, https://; and requests
// to them. The only header of this folder that others include.
#pragma once

#include "remote/credentials.h"
#include "remote/http.h"
#include "remote/hub.h"
#include "remote/rate_limit.h"
#include "remote/s3.h"
#include "remote/s3_sign.h"
#include "remote/url.h"

namespace ckpt {

// From now on, core/io opens URLs. Nothing is connected to before one is opened.
void open_urls();

}  // namespace ckpt
