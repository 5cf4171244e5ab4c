// Formats sizes and large numbers for people: "5.81 GB" (counted.h).
#include "core/base/counted.h"

#include <fmt/format.h>

namespace ckpt {

std::string in_thousands(uint64_t number, std::span<const char* const> units) {
  auto value = static_cast<double>(number) / 1000;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  return bytes < 1000 ? fmt::format("{} bytes", bytes) : in_thousands(bytes, kUnits);
}

}  // namespace ckpt
