// Secrets in URLs: logins ("https://USER:PASSWORD@HOST/") and queries, in which signed URLs keep
// theirs. Messages, plans, ledgers and provenance repeat URLs, so a typed one must not hold any,
// and a text of libcurl or a server is quoted without them.
//
// A password may hold '/', '?', '#' and '@' itself; then no reader of URLs finds it. What looks
// like one counts: text before an '@' in the host, or behind a ':' that no port follows.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

// Requires: no login in any URL in `text`, of any scheme. "git@" is none. Fails: kUsage, without
// repeating what it found.
Status refuse_url_login(std::string_view text);
// The same of a word of a command line; also no query if the word, or the value in "--NAME=VALUE",
// is a URL that ckpt reads or publishes to.
Status refuse_url_secrets(std::string_view word);
// `text` with "..." in place of logins, passwords and queries.
std::string without_url_secrets(std::string_view text);

}  // namespace ckpt
