#include "plan/conversion/sizes.h"

#include <charconv>

#include "core/base/words.h"

namespace ckpt {
std::string human_count(uint64_t count) {
  static constexpr const char* kUnits[] = {"K", "M", "B", "T"};
  return count < 10000 ? fmt::format("{}", count) : in_thousands(count, kUnits);
}

double bits_per_weight(uint64_t bytes, uint64_t weights) {
  return weights == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(weights);
}

std::string human_seconds(double seconds) {
  if (seconds < 0.95) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

Result<uint64_t> parse_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit = upper_case({end, text.data() + text.size()});
  static constexpr std::string_view kPrefixes = "KMGT";
  double factor = 1;
  bool known = error == std::errc() && number >= 0;
  if (!unit.empty() && unit != "B") {
    const size_t power = kPrefixes.find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    known = known && power != kPrefixes.npos && (rest.empty() || rest == "B" || rest == "IB");
    const double base = rest == "B" ? 1000 : 1024;
    for (size_t i = 0; known && i <= power; ++i) factor *= base;
  }
  const double bytes = number * factor;
  if (!known || bytes > 9e18) {
    return misuse("size '{}'; expected a number with K, M, G or T, like 512M", text);
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace ckpt
