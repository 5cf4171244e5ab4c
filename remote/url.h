// Splits and joins http and https URLs from untrusted sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an IPv6 address keeps its brackets
  uint16_t port = 0;
  std::string path;   // begins with '/'
  std::string query;  // without '?'
  // Another server named the host, so it must not resolve to this machine.
  bool is_named_elsewhere = false;

  // Whether scheme, host and port are equal: credentials for one may be sent to the other.
  bool is_same_origin(const Url& other) const;
  std::string origin() const;  // "https://host[:port]", without the default port
  std::string text() const;    // with path and query
  // The text for messages, without the query, in which signed URLs keep secrets.
  std::string shown() const;
  // Whether the name or address can only be this machine.
  bool is_loopback() const;
};

// Fails: kUsage for other schemes, user names, passwords, and characters that a URL must not
// contain. A part after '#' is dropped.
Result<Url> parse_url(std::string_view text);
// Resolves `reference` at `base`: a URL, "//host/x", "/x", "x", "?x" or "". Fails: as parse_url().
Result<Url> resolve_url(const Url& base, std::string_view reference);

// Encodes as "%2F" all characters except A-Z a-z 0-9 - . _ ~, as in RFC 3986 and AWS, and those in
// `keep`.
std::string percent_encoded(std::string_view text, std::string_view keep = {});
// Fails: kCorrupt if '%' is not followed by two hex digits, and for "%00".
Result<std::string> percent_decoded(std::string_view text);

}  // namespace ckpt
