#include "tools/published/numbered_name.h"

#include "core/base/numbers.h"
#include "core/base/result.h"

namespace ckpt {
namespace fs = std::filesystem;

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
  const auto number = number_from<unsigned>(tail.substr(1, 5)),
             count = number_from<unsigned>(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count) return std::nullopt;
  out.number = *number;
  out.count = *count;
  return out.number >= 1 && out.number <= out.count ? std::optional(out) : std::nullopt;
}

}  // namespace ckpt
