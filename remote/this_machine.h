// Names and addresses of the machine that this program runs on, to which servers elsewhere must not
// lead it.
#pragma once

#include <sys/socket.h>

#include <string>

namespace ckpt {

// 127.0.0.0/8, 0.0.0.0/8, ::1, ::, and the former written as IPv6 addresses.
bool is_loopback_address(const sockaddr& address);

// Whether `host` of a URL, in lower case, names this machine without a look-up: "localhost" and
// names below it, and addresses in each spelling that resolvers read (127.1, 0x7f000001, [::1]).
bool is_loopback_host(const std::string& host);

}  // namespace ckpt
