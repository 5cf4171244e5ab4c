#include <fmt/format.h>

#include <utility>

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
    {".m", AdapterPart::kMagnitude},
    {".base_layer.weight", AdapterPart::kBaseCopy},
    {".base_layer.bias", AdapterPart::kNewBias},
    {".weight", AdapterPart::kNewWeight},
    {".bias", AdapterPart::kNewBias},
};

// Words of transformers' classes, and those of files. Source: transformers 5.24,
// conversion_mapping.py.
constexpr std::pair<std::string_view, std::string_view> kFileWords[] = {
    {".mlp.router.", ".block_sparse_moe.gate."},                       // Phi-MoE
    {".mlp.", ".block_sparse_moe."},                                   // Mixtral, MiniMax
    {".block_sparse_moe.router.", ".block_sparse_moe.router.layer."},  // Granite
    {".block_sparse_moe.experts.gate_up_proj", ".block_sparse_moe.input_linear.weight"},
    {".block_sparse_moe.experts.down_proj", ".block_sparse_moe.output_linear.weight"},
    {".mlp.experts.gate_up_proj", ".mlp.experts.fc1.weight"},  // Aria
    {".mlp.experts.down_proj", ".mlp.experts.fc2.weight"},
};

}  // namespace

std::optional<AdapterKey> parse_adapter_key(std::string_view given) {
  std::string name(given);
  for (const std::string_view word : kAdapterWrappers) {
    for (size_t at = 0; (at = name.find(word, at)) != name.npos;) name.erase(at, word.size());
  }
  for (const std::string_view front : {"module.", "base_model.model."}) {
    if (name.starts_with(front)) name.erase(0, front.size());
  }
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
       {"model.language_model.", "language_model.model.", "model.", "transformer."}) {
    if (!inner.starts_with(front)) continue;
    inner.remove_prefix(front.size());
    break;
  }
  for (const std::string_view head : {"lm_head", "language_model.lm_head", "unembed_tokens"}) {
    if (module == head || inner == head) return {module, "lm_head", "language_model.lm_head"};
  }
  std::vector<std::string> out = {module};
  for (const char* front :
       {"model.", "model.language_model.", "language_model.model.", "transformer.", ""}) {
    out.push_back(fmt::format("{}{}", front, inner));
  }
  return out;
}

std::vector<std::string> file_names(const std::string& tensor) {
  std::vector<std::string> out;
  for (const auto& [words, in_files] : kFileWords) {
    const size_t at = tensor.find(words);
    if (at == tensor.npos) continue;
    out.push_back(tensor);
    out.back().replace(at, words.size(), in_files);
  }
  return out;
}

}  // namespace ckpt
