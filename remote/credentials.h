// Reads credentials for a hub and for S3 from the environment and the files of their own programs.
// Writes nothing, and messages contain no values.
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
  std::string region;    // default: "us-east-1"
  std::string endpoint;  // AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's; "" is AWS
};
// Reads the environment, then the profile AWS_PROFILE (or "default") of ~/.aws/credentials and
// ~/.aws/config. Contacts no service; s3_bucket() does. Without keys, requests are unsigned, which
// public buckets accept. Fails: kUsage: the profile is missing, or gets its keys from a program or
// a sign-in; kIo.
Result<S3Access> s3_access();

}  // namespace ckpt
