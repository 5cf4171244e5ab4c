// Files of hubs, buckets and servers, read where a path is: hf://, s3://, https://.
#pragma once

namespace ckpt {

// From now on, core/io opens URLs. Nothing is connected to before one is opened.
void open_urls();

}  // namespace ckpt
