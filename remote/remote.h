// Reads files of hubs, buckets and servers wherever a path is accepted (hf://, s3://, https://),
// and sends requests to them. Other folders include only this header of remote/.
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

// Registers URLs with core/io. No connection is made before a URL is opened.
void open_urls();

}  // namespace ckpt
