// Makes texts of libcurl and servers fit for messages. All such texts are quoted through this file,
// because they may contain secrets from the request: a proxy's password, a token, a signature.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "remote/http_message.h"

namespace ckpt {

constexpr size_t kMaxQuotedBytes = 300;

// One printable line of at most `limit_bytes` bytes of `text`, with "..." in place of secrets in
// URLs and in `credentials`, the headers of the request: their values, tokens and signatures within
// them, and the password of "Basic".
std::string foreign_text(std::string_view text, const HttpHeaders& credentials = {},
                         size_t limit_bytes = kMaxQuotedBytes);

// Returns `words`, libcurl's description of a failure. If `words` repeats any part of a proxy's
// login, returns `usual`, its text for all such failures, and the variable of the proxy.
std::string curl_text(std::string_view words, std::string_view usual);

// Whether the environment names a proxy for some URLs.
bool has_proxy();

}  // namespace ckpt
