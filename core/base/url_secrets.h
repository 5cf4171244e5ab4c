// Detects secrets in URLs: logins ("https://USER:PASSWORD@HOST/") and queries, in which signed URLs
// keep theirs. Messages, plans, ledgers and provenance repeat URLs, so typed URLs must not contain
// any, and texts of libcurl or servers are quoted without them.
//
// A password may itself contain '/', '?', '#' and '@', so that URL parsers miss it. Therefore
// anything similar counts: text before an '@' in the host, or after a ':' that no port follows.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

// Requires that no URL in `text`, of any scheme, contains a login ("git@" is not one). Fails:
// kUsage, without repeating the login.
Status refuse_url_login(std::string_view text);
// Requires the same of a command-line word, and also no query if the word, or the value in
// "--NAME=VALUE", is a URL that ckpt reads or publishes to.
Status refuse_url_secrets(std::string_view word);
// Returns `text` with "..." in place of logins, passwords and queries.
std::string without_url_secrets(std::string_view text);

}  // namespace ckpt
