// Buckets of S3 and of compatible servers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remote/http.h"
#include "remote/s3_sign.h"

namespace ckpt {

// "s3://BUCKET/KEY"
struct S3Name {
  std::string bucket, key;  // the key has no '/' at its ends
};
// Fails: kUsage.
Result<S3Name> parse_s3_name(std::string_view url);

struct S3Bucket {
  Url base;  // of the bucket: of its own host at AWS, a path where an endpoint is set
  S3Signing signing;
};
// From the environment and profiles (credentials.h). Fails: as s3_access(), and for an endpoint
// that is not a URL.
Result<S3Bucket> s3_bucket(const std::string& name);

// A signed request for `key`; "" is the bucket.
HttpRequest s3_request(const S3Bucket& bucket, std::string_view key,
                       std::vector<std::pair<std::string, std::string>> query = {});
// Whether `response`, a refusal, names another region of the bucket: `bucket` then has that one.
bool follow_region(S3Bucket& bucket, const HttpResponse& response);
// The failure for an answer other than 2xx: S3's code and message.
Failure s3_failure(const HttpResponse& response);
// The texts of all elements `name`, as they are in `xml`; elements of one name do not nest in S3's
// answers.
std::vector<std::string_view> s3_elements(std::string_view xml, std::string_view name);
// The text of the first element `name` of an answer, decoded; "" without one.
std::string s3_element(std::string_view xml, std::string_view name);

}  // namespace ckpt
