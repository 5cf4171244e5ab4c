// Signature Version 4 of AWS for S3, over URLs that are canonical as they are sent.
#pragma once

#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "remote/http.h"

namespace ckpt {

struct S3Keys {
  std::string access_key, secret_key, session_token;  // all empty: requests go unsigned
};

// Returns keys that are valid now. Called before each request, because temporary keys expire.
using S3KeySource = std::function<S3Keys()>;

// For payloads that are not hashed before they are sent; over https, TLS protects them.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct S3Signing {
  S3Keys keys;
  std::string region;
  std::string payload_sha256 = std::string(kUnsignedPayload);
  S3KeySource renewed = {};  // takes the place of `keys` if it is not empty
};

// The headers that sign `request` (its method, URL and headers x-amz-*) at `now`; none without
// keys. The query of its URL must come from s3_query().
HttpHeaders s3_signature(const HttpRequest& request, const S3Signing& with, std::time_t now);
// Makes http_send() sign each try.
void sign_s3(HttpRequest& request, S3Signing with);

// A query as it is signed: names sorted, both parts encoded, '=' after each name.
std::string s3_query(std::vector<std::pair<std::string, std::string>> parameters);
// A path as it is signed: "/bucket/a%20b".
std::string s3_path(std::string_view path);

}  // namespace ckpt
