#include "models/linear_experts.h"

// Names of gpt-oss as Unsloth saves it. Source: unsloth_zoo temporary_patches/gpt_oss.py.
#include <fmt/format.h>

#include "core/base/numbers.h"
#include "core/base/words.h"

namespace ckpt {

std::optional<LinearExpert> linear_expert(std::string_view name) {
  for (const std::string_view word : {".experts.gate_up_projs.", ".experts.down_projs."}) {
    const size_t at = name.find(word);
    if (at == name.npos) continue;
    std::string_view rest = name.substr(at + word.size());
    const auto number = number_from<uint64_t>(take_word(rest, '.'));
    if (!number || (rest != "weight" && rest != "bias")) continue;
    const std::string front(name.substr(0, at + word.size() - 2));  // without "s."
    return LinearExpert{rest == "bias" ? front + "_bias" : front, *number};
  }
  return std::nullopt;
}

std::optional<LinearExpert> single_gguf_expert(std::string_view name) {
  if (take_word(name, '.') != "blk") return std::nullopt;
  const std::string_view block = take_word(name, '.'), projection = take_word(name, '.');
  const auto number = number_from<uint64_t>(take_word(name, '.'));
  const bool is_known = has_word("ffn_gate ffn_down ffn_up", projection);
  if (!is_known || !number || name != "weight" || !number_from<uint64_t>(block)) {
    return std::nullopt;
  }
  return LinearExpert{fmt::format("blk.{}.{}_exps.weight", block, projection), *number};
}

std::string name_beside_stacks(std::string name) {
  return replace_all(std::move(name), ".router.linear.", ".router.");
}

}  // namespace ckpt
