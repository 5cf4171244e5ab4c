// Accesses buckets of S3 and compatible servers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remote/http.h"
#include "remote/s3_sign.h"
#include "remote/xml.h"

namespace ckpt {

// The parts of "s3://BUCKET/KEY".
struct S3Name {
  std::string bucket, key;  // the key neither begins nor ends with '/'
};
// Fails: kUsage.
Result<S3Name> parse_s3_name(std::string_view url);

struct S3Bucket {
  Url base;  // URL of the bucket: a separate host at AWS, a path below an endpoint
  S3Signing signing;
};
// Uses keys from the environment and profiles (credentials.h), then from the service that the
// environment names. Fails: as s3_access() and keys_of_service(), and for an endpoint that is not a
// URL.
Result<S3Bucket> s3_bucket(const std::string& name);

// Makes a signed request for `key`; "" is the bucket.
HttpRequest s3_request(const S3Bucket& bucket, std::string_view key,
                       std::vector<std::pair<std::string, std::string>> query = {});
// Whether the refusal `response` names another region of the bucket, which `bucket` then uses.
bool follow_region(S3Bucket& bucket, const HttpResponse& response);
// The failure for another answer than 2xx, with S3's code and message.
Failure s3_failure(const HttpResponse& response);

}  // namespace ckpt
