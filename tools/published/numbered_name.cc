#include "tools/published/numbered_name.h"

#include <charconv>

#include "core/base/result.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

std::optional<unsigned> five_digits(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string NumberedName::of(unsigned i) const {
  return fmt::format("{}-{:05}-of-{:05}{}", prefix, i, count, ending);
}

std::optional<NumberedName> parse_numbered(const fs::path& path) {
  NumberedName out;
  out.ending = path.extension().string();
  if (out.ending != ".gguf" && out.ending != ".safetensors") return std::nullopt;
  const std::string stem = path.stem().string();
  constexpr size_t kTail = std::string_view("-00001-of-00001").size();
  if (stem.size() <= kTail) return std::nullopt;
  out.prefix = stem.substr(0, stem.size() - kTail);
  const std::string_view tail = std::string_view(stem).substr(out.prefix.size());
  const auto number = five_digits(tail.substr(1, 5)), count = five_digits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count) return std::nullopt;
  out.number = *number;
  out.count = *count;
  return out.number >= 1 && out.number <= out.count ? std::optional(out) : std::nullopt;
}

}  // namespace ckpt
