#include "remote/url.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "core/base/url_secrets.h"
#include "core/base/words.h"
#include "remote/this_machine.h"

namespace ckpt {
namespace {

constexpr size_t kMaxUrlBytes = 16 << 10;

uint16_t usual_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

bool is_host_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    return std::all_of(host.begin() + 1, host.end() - 1, [](char c) {
      return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
    });
  }
  return !host.empty() && std::ranges::all_of(host, is_host_character);
}

Failure bad_url(std::string_view text, std::string_view what) {
  constexpr std::string_view kAny = "http://";  // used for text without a scheme
  const bool has_scheme = text.find("://") != text.npos;
  std::string shown = without_url_secrets(std::string(has_scheme ? "" : kAny).append(text));
  if (!has_scheme) shown.erase(0, kAny.size());
  return misuse("{}: {}; expected https://HOST/PATH",
                printable(shown.substr(0, std::min<size_t>(shown.find('?'), 200))), what);
}

// The port after the host; nullopt if it is not a valid port number.
std::optional<uint16_t> port_of(std::string_view digits) {
  const auto port = number_from<uint16_t>(digits);
  return port == 0 ? std::nullopt : port;
}

// Resolves dots: "/a/./b/../c" becomes "/a/c", as in RFC 3986.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool is_folder = false;
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    is_folder = part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!is_folder) kept.push_back(part);
    at = end + 1;
  }
  std::string out;
  for (const std::string_view part : kept) out.append("/").append(part);
  return is_folder || out.empty() ? out + "/" : out;
}

}  // namespace

bool Url::is_same_origin(const Url& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

std::string Url::origin() const {
  std::string out = scheme + "://" + host;
  return port == usual_port(scheme) ? out : fmt::format("{}:{}", out, port);
}

std::string Url::text() const { return origin() + path + (query.empty() ? "" : "?" + query); }

std::string Url::shown() const { return origin() + path; }

bool Url::is_loopback() const { return is_loopback_host(host); }

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return bad_url(text, "longer than any URL should be");
  for (const char c : text) {
    if (c <= ' ' || c == '\x7f' || c == '\\' || static_cast<unsigned char>(c) > 0x7f) {
      return bad_url(text, "a character that must be written as %XX");
    }
  }
  Url url;
  text = text.substr(0, text.find('#'));
  const size_t colon = text.find("://");
  url.scheme = lower_case(text.substr(0, colon == text.npos ? 0 : colon));
  if (url.scheme != "https" && url.scheme != "http") return bad_url(text, "another scheme");
  const std::string_view rest = text.substr(colon + 3);
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view host = rest.substr(0, end);
  if (host.find('@') != host.npos) {
    return bad_url(text, "a user name in the URL, which would be shown");
  }
  url.port = usual_port(url.scheme);
  const size_t port = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (port != host.npos) {
    const auto number = port_of(host.substr(port + 1));
    if (!number) return bad_url(text, "a port that is not a number from 1 to 65535");
    url.port = *number;
    host = host.substr(0, port);
  }
  if (!is_host(host)) return bad_url(text, "a host that is not a name or an address");
  url.host = lower_case(host);
  std::string_view path = rest.substr(end);
  const size_t query = path.find('?');
  if (query != path.npos) url.query = path.substr(query + 1);
  path = path.substr(0, query);
  url.path = path.empty() ? "/" : path;
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  const size_t colon = reference.find(':');
  if (colon != reference.npos && colon < reference.find_first_of("/?#")) {
    return parse_url(reference);
  }
  if (reference.starts_with("//")) return parse_url(base.scheme + ":" + std::string(reference));
  std::string path = base.path;
  if (reference.starts_with('/')) {
    path.clear();
  } else if (!reference.empty() && reference[0] != '?' && reference[0] != '#') {
    path = path.substr(0, path.rfind('/') + 1);
  }
  CKPT_ASSIGN(Url url, parse_url(base.origin() + path + std::string(reference)));
  url.path = without_dots(url.path);
  return url;
}

std::string percent_encoded(std::string_view text, std::string_view keep) {
  constexpr std::string_view kHex = "0123456789ABCDEF", kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte < 0x80 && std::isalnum(byte) != 0) ||
                          kPlain.find(c) != kPlain.npos || keep.find(c) != keep.npos;
    if (is_plain) {
      out.push_back(c);
    } else {
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return out;
}

Result<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const auto code = number_from<uint8_t>(text.substr(i + 1, 2), 16);
    if (i + 2 >= text.size() || !code || *code == 0) {
      return corrupt("'{}': '%' without two hex digits of a character", text);
    }
    out.push_back(static_cast<char>(*code));
    i += 2;
  }
  return out;
}

}  // namespace ckpt
