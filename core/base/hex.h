// Converts bytes to and from lower-case hexadecimal digits.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

inline constexpr std::string_view kBase16 = "0123456789abcdef";

inline std::string hex_of(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return out;
}

inline bool is_hex(std::string_view text) {
  return text.find_first_not_of(kBase16) == text.npos;
}

// Returns nullopt for an odd number of digits, and for other characters.
inline std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view hex) {
  if (hex.size() % 2 != 0 || !is_hex(hex)) return std::nullopt;
  std::vector<std::byte> out;
  for (; !hex.empty(); hex.remove_prefix(2)) {
    out.push_back(static_cast<std::byte>(kBase16.find(hex[0]) * 16 + kBase16.find(hex[1])));
  }
  return out;
}

}  // namespace ckpt
