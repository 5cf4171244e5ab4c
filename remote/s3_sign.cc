#include "remote/s3_sign.h"

#include <fmt/chrono.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned int size = 0;
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

}  // namespace

HttpHeaders s3_signature(const HttpRequest& request, const S3Signing& with, std::time_t now) {
  if (with.keys.access_key.empty()) return {};
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(now)),
                    day = time.substr(0, 8);
  HttpHeaders out{{"x-amz-date", time}, {"x-amz-content-sha256", with.payload_sha256}};
  if (!with.keys.session_token.empty()) {
    out.emplace_back("x-amz-security-token", with.keys.session_token);
  }
  std::map<std::string, std::string> headers(out.begin(), out.end());
  headers["host"] = request.url.origin().substr(request.url.scheme.size() + 3);
  for (const auto& [name, value] : request.headers) {
    const std::string low = lower_case(name);
    if (low.starts_with("x-amz-")) headers[low] = value;
  }
  std::string lines, names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.url.path, request.url.query,
                  lines, names, with.payload_sha256);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, with.region);
  std::string key = "AWS4" + with.keys.secret_key;
  for (const std::string_view part : {std::string_view(day), std::string_view(with.region),
                                      std::string_view("s3"), std::string_view("aws4_request")}) {
    key = hmac_sha256(key, part);
  }
  const std::string signature = hmac_sha256(
      key, fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, sha256_of(canonical)));
  out.emplace_back(
      "Authorization",
      fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                  with.keys.access_key, scope, names, hex_of(std::as_bytes(std::span(signature)))));
  return out;
}

void sign_s3(HttpRequest& request, S3Signing with) {
  request.sign = [with = std::move(with)](const HttpRequest& tried) {
    S3Signing now = with;
    if (with.renewed) now.keys = with.renewed();
    return s3_signature(tried, now, std::time(nullptr));
  };
}

std::string s3_query(std::vector<std::pair<std::string, std::string>> parameters) {
  for (auto& [name, value] : parameters) {
    name = percent_encoded(name);
    value = percent_encoded(value);
  }
  std::ranges::sort(parameters);
  std::string out;
  for (const auto& [name, value] : parameters) {
    out += (out.empty() ? "" : "&") + name + "=" + value;
  }
  return out;
}

std::string s3_path(std::string_view path) { return percent_encoded(path, "/"); }

}  // namespace ckpt
