#include "plan/conversion/sizes.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/base/arithmetic.h"
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

namespace {

// The number of files that a limit gives; a tensor is never divided among files.
uint64_t count_files(std::span<const uint64_t> tensor_bytes, uint64_t limit_bytes) {
  uint64_t files = 1, open_bytes = 0;
  for (const uint64_t bytes : tensor_bytes) {
    if (open_bytes > 0 && bytes > limit_bytes - std::min(limit_bytes, open_bytes)) {
      ++files;
      open_bytes = 0;
    }
    open_bytes += bytes;
  }
  return files;
}

}  // namespace

uint64_t equal_file_bytes(std::span<const uint64_t> tensor_bytes) {
  constexpr uint64_t kCores = 16, kLeastBytes = 256'000'000, kMostBytes = 5'000'000'000;
  const uint64_t total = std::reduce(tensor_bytes.begin(), tensor_bytes.end(), uint64_t{0});
  const uint64_t files =
      std::max({uint64_t{1}, std::min(kCores, total / kLeastBytes), divide_up(total, kMostBytes)});
  uint64_t low = divide_up(total, files), high = std::max<uint64_t>(total, 1);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const bool is_enough = count_files(tensor_bytes, middle) <= files;
    (is_enough ? high : low) = is_enough ? middle : middle + 1;
  }
  return high;
}

}  // namespace ckpt
