// URLs of http and https from untrusted sources, split and joined.
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
  // A server on another machine named the host, which must not resolve to this one.
  bool is_named_elsewhere = false;

  // The same scheme, host and port: credentials of one may be sent to the other.
  bool is_same_origin(const Url& other) const;
  std::string origin() const;  // "https://host[:port]", without the default port
  std::string text() const;    // with path and query
  // For messages: without the query, because signed URLs keep secrets there.
  std::string shown() const;
  // A name or address that can only be this machine.
  bool is_loopback() const;
};

// Fails: kUsage for other schemes, user names, passwords, and characters that a URL must not
// contain. A part after '#' is dropped.
Result<Url> parse_url(std::string_view text);
// `reference`, found at `base`: a URL, "//host/x", "/x", "x", "?x" or nothing. Fails: as
// parse_url().
Result<Url> resolve_url(const Url& base, std::string_view reference);

// "%2F" for all characters but A-Z a-z 0-9 - . _ ~, as in RFC 3986 and AWS. `keep`: other
// characters that stay.
std::string percent_encoded(std::string_view text, std::string_view keep = {});
// Fails: kCorrupt if '%' is not followed by two hex digits, and for "%00".
Result<std::string> percent_decoded(std::string_view text);

}  // namespace ckpt
