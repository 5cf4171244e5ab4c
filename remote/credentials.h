// Credentials for a hub and for S3, from the environment and from the files of their own programs.
// Nothing is written, and messages contain no values.
#pragma once

#include <string>

#include "core/base/result.h"
#include "remote/http.h"
#include "remote/s3_sign.h"

namespace ckpt {

// The value of a variable; "" if it is not set.
std::string environment(const char* name);

struct HubAccess {
  Url endpoint;       // HF_ENDPOINT or https://huggingface.co, without '/' at the end of its path
  std::string token;  // HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the file of `hf auth login`; may be ""

  HttpHeaders credentials() const;
};
// Fails: kUsage for an HF_ENDPOINT that is not a URL, and for a token of more than one line.
Result<HubAccess> hub_access();
// The folder of all caches: XDG_CACHE_HOME or ~/.cache; "" without a home.
std::string cache_home();
// The download cache of the hub's own programs: HF_HUB_CACHE, HF_HOME; "" without a home.
std::string hub_cache_folder();

struct S3Access {
  S3Keys keys;
  std::string region;    // "us-east-1" by default
  std::string endpoint;  // AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or of the profile; "" is AWS
};
// Reads the environment, then the profile AWS_PROFILE (or "default") of ~/.aws/credentials and
// ~/.aws/config. Asks no service; s3_bucket() does. Without keys requests go unsigned, as public
// buckets allow. Fails: kUsage: the profile is missing, or gets its keys from a program or a
// sign-in; kIo.
Result<S3Access> s3_access();

}  // namespace ckpt
