#include "core/model/transform.h"

#include "core/base/glob.h"

namespace ckpt {
std::optional<std::string> Options::get(std::string_view key) const {
  std::optional<std::string> out;
  for (const auto& [name, value] : pairs_) {
    if (name == key) out = value;
  }
  return out;
}

std::vector<std::string> Options::all(std::string_view key) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : pairs_) {
    if (name == key) out.push_back(value);
  }
  return out;
}

bool Options::yes(std::string_view key, bool otherwise) const {
  const auto value = get(key);
  if (!value) return otherwise;
  return *value == "yes" || *value == "true" || *value == "1";
}

bool glob_matches(std::string_view pattern, std::string_view name) {
  return Glob(pattern).matches(name);
}

}  // namespace ckpt
