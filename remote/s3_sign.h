// Signs requests to S3 by AWS Signature Version 4; URLs are sent in canonical form.
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
  std::string access_key, secret_key, session_token;  // all empty: requests are unsigned
};

// Returns keys that are valid now. Called before each request, because temporary keys expire.
using S3KeySource = std::function<S3Keys()>;

// Marks payloads that are not hashed before sending; over https, TLS protects them.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct S3Signing {
  S3Keys keys;
  std::string region;
  std::string payload_sha256 = std::string(kUnsignedPayload);
  S3KeySource renewed = {};  // replaces `keys` if not empty
};

// Returns the headers that sign `request` (its method, URL and headers x-amz-*) at the time `now`;
// none without keys. The query of its URL must come from s3_query().
HttpHeaders s3_signature(const HttpRequest& request, const S3Signing& with, std::time_t now);
// Makes http_send() sign each try.
void sign_s3(HttpRequest& request, S3Signing with);

// A query in signed form: names sorted, both parts encoded, '=' after each name.
std::string s3_query(std::vector<std::pair<std::string, std::string>> parameters);
// A path in signed form: "/bucket/a%20b".
std::string s3_path(std::string_view path);

}  // namespace ckpt
