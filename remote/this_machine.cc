#include "remote/this_machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ckpt {
namespace {

bool is_loopback_ipv4(const in_addr& address) {
  const uint32_t first = ntohl(address.s_addr) >> 24;
  return first == 127 || first == 0;
}

bool is_loopback_ipv6(const in6_addr& address) {
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &address, bytes.size());
  const bool is_low = std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; });
  if (!is_low || bytes[10] != bytes[11] || (bytes[10] != 0 && bytes[10] != 0xff)) return false;
  // ::1, ::, ::ffff:127.0.0.1, and the obsolete form ::127.0.0.1.
  return bytes[12] == 127 || bytes[12] == 0;
}

}  // namespace

bool is_loopback_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return is_loopback_ipv4(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  if (address.sa_family != AF_INET6) return false;
  return is_loopback_ipv6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

bool is_loopback_host(const std::string& host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    in6_addr address;
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1 &&
           is_loopback_ipv6(address);
  }
  std::string_view name = host;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  in_addr address;
  return ::inet_aton(std::string(name).c_str(), &address) == 1 && is_loopback_ipv4(address);
}

}  // namespace ckpt
