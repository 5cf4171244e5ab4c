#include "models/linear_experts.h"

// Names of gpt-oss as Unsloth saves it. Source: unsloth_zoo temporary_patches/gpt_oss.py.
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

std::string name_beside_stacks(std::string name) {
  return replace_all(std::move(name), ".router.linear.", ".router.");
}

}  // namespace ckpt
