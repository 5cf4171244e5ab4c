// Texts of libcurl and of servers, fit for a message. All of them are quoted through this file,
// because they may repeat what they were given: a proxy with its password, a token, a signature.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "remote/http_message.h"

namespace ckpt {

constexpr size_t kMaxQuotedBytes = 300;

// One printable line of at most `limit_bytes` bytes of `text`, with "..." in place of secrets of
// URLs and of `credentials`, the headers that the request carried: their values, the tokens and
// signatures in them, and the password of "Basic".
std::string foreign_text(std::string_view text, const HttpHeaders& credentials = {},
                         size_t limit_bytes = kMaxQuotedBytes);

// `words`, libcurl's account of a failure; or `usual`, its text for all failures of that kind, and
// the variable of the proxy if `words` repeats any part of a proxy's login.
std::string curl_text(std::string_view words, std::string_view usual);

// Whether the environment names a proxy for some URLs.
bool has_proxy();

}  // namespace ckpt
