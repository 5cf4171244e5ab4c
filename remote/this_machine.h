// Recognizes names and addresses of this machine, which servers elsewhere must not name in
// redirects or links.
#pragma once

#include <sys/socket.h>

#include <string>

namespace ckpt {

// True for 127.0.0.0/8, 0.0.0.0/8, ::1, ::, and the IPv4 ranges written as IPv6 addresses.
bool is_loopback_address(const sockaddr& address);

// Whether `host` of a URL, in lower case, names this machine without a look-up: "localhost", names
// below it, and addresses in each spelling that resolvers accept (127.1, 0x7f000001, [::1]).
bool is_loopback_host(const std::string& host);

}  // namespace ckpt
