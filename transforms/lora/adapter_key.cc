// Parses names of tensors in adapters, and translates names of modules into those of models.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "transforms/lora/adapter.h"

namespace ckpt {
namespace {

constexpr std::string_view kAdapterWrappers[] = {"_fsdp_wrapped_module.",
                                                 "_checkpoint_wrapped_module.", "_orig_mod."};

// The adapter's name in `tail`: "", ".weight" or ".default.weight" for `ending` ".weight"; "" or
// ".default" for none. nullopt: another tail.
std::optional<std::string> name_in_tail(std::string_view tail, std::string_view ending) {
  if (tail.empty() || tail == ending) return "";
  if (!tail.ends_with(ending)) return std::nullopt;
  tail.remove_suffix(ending.size());
  if (tail.size() < 2 || tail[0] != '.' || tail.find('.', 1) != tail.npos) return std::nullopt;
  return tail == kWeight ? "" : std::string(tail.substr(1));
}

struct PartWord {
  std::string_view word, ending;
  AdapterPart part;
};
constexpr PartWord kPartWords[] = {
    {".lora_A", kWeight, AdapterPart::kA},
    {".lora_B", kWeight, AdapterPart::kB},
    {".lora_embedding_A", "", AdapterPart::kEmbeddingA},
    {".lora_embedding_B", "", AdapterPart::kEmbeddingB},
    {".lora_magnitude_vector", kWeight, AdapterPart::kMagnitude},
    {".lora_magnitude_vector", "", AdapterPart::kMagnitude},
    {".token_adapter.trainable_tokens_delta", "", AdapterPart::kTokens},
};

// Reads a name that ends in one of `factors`, perhaps with the adapter's name behind it.
std::optional<AdapterKey> parse_factor(const std::string& name, std::string_view factors) {
  for (const std::string_view factor : split_words(factors)) {
    const size_t at = name.rfind(fmt::format(".{}", factor));
    if (at == name.npos) continue;
    const std::string_view tail = std::string_view(name).substr(at + 1 + factor.size());
    auto adapter = name_in_tail(tail, "");
    if (!adapter) adapter = name_in_tail(tail, kWeight);
    if (!adapter) continue;
    return AdapterKey{name.substr(0, at), AdapterPart::kFactor, std::move(*adapter), factor};
  }
  return std::nullopt;
}

std::optional<AdapterKey> parse_low_rank(const std::string& name) {
  for (const PartWord& each : kPartWords) {
    const size_t at = name.rfind(each.word);
    if (at == name.npos) continue;
    const std::string_view tail = std::string_view(name).substr(at + each.word.size());
    const bool is_bias = each.part == AdapterPart::kB && tail.ends_with(".bias");
    auto adapter = name_in_tail(tail, is_bias ? ".bias" : each.ending);
    if (!adapter) continue;
    return AdapterKey{name.substr(0, at), is_bias ? AdapterPart::kBBias : each.part,
                      std::move(*adapter)};
  }
  return std::nullopt;
}

constexpr std::pair<std::string_view, AdapterPart> kEndings[] = {
    {".lora_a", AdapterPart::kTurnedA},
    {".lora_b", AdapterPart::kTurnedB},
    {".A", AdapterPart::kTurnedA},  // of mlx-vlm
    {".B", AdapterPart::kTurnedB},
    {".m", AdapterPart::kMagnitude},
    {".token_adapter.base_layer.weight", AdapterPart::kBaseCopy},
    {".base_layer.weight", AdapterPart::kBaseCopy},
    {".original_module.weight", AdapterPart::kBaseCopy},
    {".original_module.bias", AdapterPart::kBaseBias},
    {".base_layer.bias", AdapterPart::kNewBias},
    {".weight", AdapterPart::kNewWeight},
    {".bias", AdapterPart::kNewBias},
};

}  // namespace

std::optional<AdapterKey> parse_adapter_key(std::string_view given, std::string_view factors) {
  std::string name(given);
  for (const std::string_view word : kAdapterWrappers) {
    for (size_t at = 0; (at = name.find(word, at)) != name.npos;) name.erase(at, word.size());
  }
  for (const std::string_view front : {"module.", "base_model.model."}) {
    if (name.starts_with(front)) name.erase(0, front.size());
  }
  if (auto key = parse_factor(name, factors)) return key;
  if (auto key = parse_low_rank(name)) return key;
  if (name.find("lora_") != name.npos && !name.ends_with(".lora_a") && !name.ends_with(".lora_b")) {
    return std::nullopt;
  }
  for (const std::string_view word : {".modules_to_save.default.", ".modules_to_save."}) {
    const size_t at = name.find(word);
    if (at != name.npos) name.replace(at, word.size(), ".");
  }
  for (const auto& [ending, part] : kEndings) {
    if (!name.ends_with(ending) || name.size() == ending.size()) continue;
    return AdapterKey{name.substr(0, name.size() - ending.size()), part};
  }
  return AdapterKey{std::move(name), AdapterPart::kNewTensor};
}

std::vector<std::string> model_names(const std::string& module) {
  std::string_view inner = module;
  for (const std::string_view front :
       {"model.language_model.", "language_model.model.", "language_model.", "model.text_model.",
        "model.", "transformer."}) {
    if (!inner.starts_with(front)) continue;
    inner.remove_prefix(front.size());
    break;
  }
  for (const std::string_view head : {"lm_head", "language_model.lm_head", "unembed_tokens"}) {
    if (module == head || inner == head) return {module, "lm_head", "language_model.lm_head"};
  }
  std::vector<std::string> out = {module};
  for (const char* front :
       {"model.", "model.language_model.", "language_model.model.", "model.text_model.",
        "transformer.", ""}) {
    out.push_back(fmt::format("{}{}", front, inner));
  }
  return out;
}

}  // namespace ckpt
