#include "core/base/url_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::array<std::string_view, 5> kSchemes = {"http", "https", "hf", "s3", "oci"};

bool is_scheme_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

// The positions of a URL in a text.
struct UrlPlace {
  size_t start = 0;  // start of the scheme
  size_t host = 0;   // after the slashes, where a login would begin
  size_t end = 0;
};

bool is_known_scheme(std::string_view scheme) {
  return std::ranges::find(kSchemes, lower_case(scheme)) != kSchemes.end();
}

// Finds the first URL from `from` on. With only one slash, only schemes that ckpt knows count.
std::optional<UrlPlace> find_url(std::string_view text, size_t from) {
  for (size_t colon = text.find(":/", from); colon != text.npos;
       colon = text.find(":/", colon + 1)) {
    UrlPlace out;
    out.start = colon;
    while (out.start > from && is_scheme_character(text[out.start - 1])) --out.start;
    out.host = std::min(text.find_first_not_of('/', colon + 1), text.size());
    const std::string_view scheme = text.substr(out.start, colon - out.start);
    if (scheme.empty() || (out.host == colon + 2 && !is_known_scheme(scheme))) continue;
    // A URL at the start of the text is the entire text, even if its password contains a space.
    const bool is_inside = out.start > 0;
    out.end =
        is_inside ? std::min(text.find_first_of(" \t\r\n", out.host), text.size()) : text.size();
    return out;
  }
  return std::nullopt;
}

// Whether no port follows the host, except punctuation that a sentence puts after a URL.
bool has_no_port(std::string_view host) {
  host = host.substr(0, host.find_last_not_of(":,.;'\")>") + 1);
  const size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  const size_t colon = host.find(':', bracket == host.npos ? 0 : bracket);
  return colon != host.npos && host.find_first_not_of("0123456789", colon + 1) != host.npos;
}

// The part of `url`, which begins with its host, that is a login or its password.
struct LoginPlace {
  size_t start = 0, end = 0;
  bool has_at = false;  // if false, it may be a mistyped port
};
std::optional<LoginPlace> find_login(std::string_view url) {
  const size_t host_end = std::min(url.find_first_of("/?#\\"), url.size());
  const std::string_view host = url.substr(0, host_end);
  const size_t at = host.rfind('@');
  const bool is_login = at != host.npos && host.substr(0, at) != "git";
  if (!is_login && !has_no_port(host)) return std::nullopt;
  const size_t last = url.rfind('@');
  if (last != url.npos) return LoginPlace{0, last, true};
  return LoginPlace{host.find(':') + 1, host_end, false};
}

std::string_view value_of_option(std::string_view word) {
  const size_t equals = word.find('=');
  return word.starts_with("--") && equals != word.npos ? word.substr(equals + 1) : word;
}

// Whether the URL has a query: "?" may be part of a key or a file name, but "=" after it is a sign.
bool has_query(std::string_view scheme, std::string_view url) {
  const size_t query = url.find('?');
  const bool may_be_name = scheme == "s3" || scheme == "hf";
  return query != url.npos && (!may_be_name || url.find('=', query) != url.npos);
}

}  // namespace

Status refuse_url_login(std::string_view text) {
  for (auto url = find_url(text, 0); url; url = find_url(text, url->host)) {
    const auto login = find_login(text.substr(url->host, url->end - url->host));
    if (!login || !login->has_at) continue;
    return misuse_hint("the URL without it; docs/REMOTE.md lists where logins come from",
                       "{}://...: a user name or password in a URL, which would be shown",
                       text.substr(url->start, text.find(':', url->start) - url->start));
  }
  return {};
}

Status refuse_url_secrets(std::string_view word) {
  const std::string_view value = value_of_option(word);
  CKPT_TRY(refuse_url_login(word));
  CKPT_TRY(refuse_url_login(value));
  const auto url = find_url(value, 0);
  if (!url || url->start != 0) return {};
  const std::string scheme = lower_case(value.substr(0, value.find(':')));
  if (!is_known_scheme(scheme) || !has_query(scheme, value.substr(url->host))) return {};
  const std::string_view query = value.substr(value.find('?'));
  return misuse_hint(query == "?download=true"    ? "the same without ?download=true"
                     : scheme.starts_with("http") ? "downloading it first"
                                                  : "",
                     "{}: has a query, which would be shown and kept in plans",
                     without_url_secrets(value.substr(0, value.find('?'))));
}

std::string without_url_secrets(std::string_view text) {
  std::string out;
  size_t done = 0;
  for (auto url = find_url(text, 0); url; url = find_url(text, std::max(url->host, done))) {
    out.append(text.substr(done, url->host - done));
    done = url->host;
    if (const auto login = find_login(text.substr(done, url->end - done))) {
      out.append(text.substr(done, login->start)).append("...");
      done += login->end;
    }
    const size_t query = std::min(text.find('?', done), url->end);
    const auto inner = find_url(text, done);
    if (inner && inner->start < query) continue;
    out.append(text.substr(done, query - done));
    if (query < url->end) out.append("?...");
    done = url->end;
  }
  return out.append(text.substr(done));
}

}  // namespace ckpt
