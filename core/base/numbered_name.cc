#include "core/base/numbered_name.h"

#include <fmt/format.h>

#include "core/base/numbers.h"

namespace ckpt {

std::string NumberedName::of(unsigned i) const {
  return fmt::format("{}-{:05}-of-{:05}{}", prefix, i, count, ending);
}

std::optional<NumberedName> parse_numbered(std::string_view path) {
  constexpr std::string_view kTail = "-00001-of-00001";
  NumberedName out;
  out.ending = path.ends_with(".gguf") ? ".gguf" : ".safetensors";
  const size_t end_bytes = kTail.size() + out.ending.size();
  if (!path.ends_with(out.ending) || path.size() <= end_bytes) return std::nullopt;
  out.prefix = path.substr(0, path.size() - end_bytes);
  const std::string_view tail = path.substr(out.prefix.size());
  const auto number = number_from<unsigned>(tail.substr(1, 5)),
             count = number_from<unsigned>(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count) return std::nullopt;
  out.number = *number;
  out.count = *count;
  return out.number >= 1 && out.number <= out.count ? std::optional(out) : std::nullopt;
}

}  // namespace ckpt
