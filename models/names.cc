// Translates names of modules into names in GGUF, by the name rules of all families.
#include <algorithm>

#include "core/base/numbers.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kLayers = "layers.";

// Returns "mlp.down_proj" for "model.layers.3.mlp.down_proj", or the last word outside layers.
std::string_view name_in_layer(std::string_view name) {
  const size_t at = name.find(kLayers);
  if (at == name.npos) return last_word(name);
  name.remove_prefix(at + kLayers.size());
  return name.substr(std::min(name.size(), name.find('.') + 1));
}

std::string_view without_weight(std::string_view name) {
  return name.substr(0, name.rfind(".weight"));
}

// 2: a module of routed experts; 1: of a shared expert; 0: of neither.
int expert_kind(std::string_view name) {
  return name.find(".experts.") != name.npos ? 2 : name.find("shared_expert") != name.npos ? 1 : 0;
}

// The first rule of any family whose name agrees with `module` in the part that `part` returns.
const NameRule* rule_for(std::string_view module, std::string_view (*part)(std::string_view)) {
  std::vector<std::string> numbers;
  const auto fits = [&](const NameRule& rule) {
    return !rule.to.empty() && expert_kind(rule.from) == expert_kind(module) &&
           matches_pattern(part(without_weight(rule.from)), part(module), numbers);
  };
  for (const Family* family : families()) {
    for (const std::span<const NameRule> list : family->names) {
      const auto found = std::ranges::find_if(list, fits);
      if (found != list.end()) return &*found;
    }
  }
  return nullptr;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name,
                     std::vector<std::string>& numbers) {
  numbers.clear();
  while (!pattern.empty()) {
    if (pattern.starts_with("{}")) {
      const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0) return false;
      numbers.emplace_back(name.substr(0, digits));
      pattern.remove_prefix(2);
      name.remove_prefix(digits);
      continue;
    }
    const std::string_view text = pattern.substr(0, pattern.find("{}"));
    if (!name.starts_with(text)) return false;
    pattern.remove_prefix(text.size());
    name.remove_prefix(text.size());
  }
  return name.empty();
}

std::string own_name(const Family& family, std::string_view given) {
  const std::string inner =
      replace_all(replace_all(given, "language_model.", ""), "text_model.", "");
  std::string_view name = inner;
  for (const std::string_view prefix : split_words(family.prefixes)) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (!family.prefixes.empty()) {
    for (const auto& [old, end] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")}) {
      if (name.ends_with(old)) {
        return fmt::format("{}{}", name.substr(0, name.rfind('.')), end);
      }
    }
  }
  const bool is_bare = family.has_bare_names && !name.starts_with(family.root) &&
                       !name.starts_with("lm_head.") && !name.starts_with("score.");
  return fmt::format("{}{}", is_bare ? family.root : "", name);
}

std::string fill_in(std::string_view pattern, const std::vector<std::string>& numbers) {
  std::string out(pattern);
  size_t at = 0;
  for (const std::string& number : numbers) {
    at = out.find("{}", at);
    if (at == std::string::npos) break;
    out.replace(at, 2, number);
  }
  return out;
}

std::vector<std::string> gguf_names_of(std::string_view module) {
  const NameRule* rule = rule_for(module, name_in_layer);
  if (rule == nullptr) rule = rule_for(module, last_word);
  if (rule == nullptr) return {};
  const size_t layers = module.find(kLayers);
  std::string block;
  if (layers != module.npos) {
    block = fmt::format("blk.{}.", number_after(module.substr(layers), kLayers).value_or(0));
  }
  std::vector<std::string> out;
  std::vector<std::string_view> targets = split_words(rule->second);
  targets.insert(targets.begin(), rule->to);
  for (std::string_view to : targets) {
    constexpr std::string_view kBlock = "blk.{}.";
    if (to.empty()) continue;
    if (to.starts_with(kBlock)) to.remove_prefix(kBlock.size());
    out.push_back(fmt::format("{}{}.weight", block, without_weight(to)));
  }
  return out;
}

}  // namespace ckpt
