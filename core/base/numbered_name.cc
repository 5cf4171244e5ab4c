#include "core/base/numbered_name.h"

#include <fmt/format.h>

#include "core/base/numbers.h"
#include "core/base/words.h"

namespace ckpt {

std::string NumberedName::of(unsigned i) const {
  return fmt::format("{}-{:05}{}{:05}{}", prefix, i, of_word, count, ending);
}

std::optional<NumberedName> parse_numbered(std::string_view path) {
  constexpr std::string_view kTail = "-00001-of-00001";
  NumberedName out;
  for (const std::string_view ending : {".gguf", ".safetensors", ".bin"}) {
    if (has_ending(path, ending)) out.ending = path.substr(path.size() - ending.size());
  }
  const size_t end_bytes = kTail.size() + out.ending.size();
  if (out.ending.empty() || path.size() <= end_bytes) return std::nullopt;
  out.prefix = path.substr(0, path.size() - end_bytes);
  const std::string_view tail = path.substr(out.prefix.size());
  const auto number = number_from<unsigned>(tail.substr(1, 5)),
             count = number_from<unsigned>(tail.substr(10, 5));
  out.of_word = tail.substr(6, 4);
  if (tail[0] != '-' || lower_case(out.of_word) != "-of-" || !number || !count) {
    return std::nullopt;
  }
  out.number = *number;
  out.count = *count;
  return out.number >= 1 && out.number <= out.count ? std::optional(out) : std::nullopt;
}

}  // namespace ckpt
