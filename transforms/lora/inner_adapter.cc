// The adapter in a checkpoint of a trainer that saved PEFT's modules:
//
//   base_model.model.X.base_layer.weight                  X.weight of the model
//   base_model.model.X.original_module.weight             the same
//   base_model.model.X.weight                             the same, without an adapter
//   base_model.model.X.lora_A.default.weight              X.lora_A.weight of the adapter
//   base_model.model.X.modules_to_save.default.weight     X.weight of the adapter
//
// "default" is the name of the adapter, which PEFT leaves out of its files.
// Source: peft/utils/save_and_load.py, peft/tuners/tuners_utils.py.
#include <set>

#include "core/base/words.h"
#include "core/model/adapter.h"
#include "transforms/lora/adapter.h"

namespace ckpt {
namespace {

constexpr std::string_view kPeftStart = "base_model.model.", kSavedModule = ".modules_to_save.";
constexpr const char* kInnerConfig = "adapter_config.json";

void erase_word(std::string& name, std::string_view word) {
  if (const size_t at = name.find(word); at != name.npos) name.erase(at, word.size());
}

// The name of a tensor in the adapter's files; empty: it belongs to the model.
std::string name_in_adapter(const std::string& name, const AdapterConfig& config) {
  std::string out = name;
  if (const size_t at = name.find(kSavedModule); at != name.npos) {
    std::string_view rest = std::string_view(name).substr(at + kSavedModule.size());
    take_word(rest, '.');
    return fmt::format("{}.{}", name.substr(0, at), rest);
  }
  const auto key = parse_adapter_key(name, config.method == nullptr ? "" : config.method->factors);
  const bool is_low_rank = key && (key->part <= AdapterPart::kEmbeddingB ||
                                   key->part == AdapterPart::kTokens ||
                                   key->part == AdapterPart::kFactor);
  const bool is_magnitude = name.find(".lora_magnitude_vector.") != name.npos;
  if (!is_low_rank && !is_magnitude) return {};
  if (!key->adapter.empty()) erase_word(out, "." + key->adapter);
  if (is_magnitude) erase_word(out, ".weight");
  return out;
}

std::string name_in_model(std::string name) {
  if (name.starts_with(kPeftStart)) name.erase(0, kPeftStart.size());
  for (const std::string_view word : {".token_adapter", ".base_layer", ".original_module"}) {
    erase_word(name, word);
  }
  return name;
}

}  // namespace

Result<Checkpoint> take_inner_adapter(Checkpoint& model) {
  if (!has_inner_adapter(model)) {
    return misuse_hint("--step lora:from=ADAPTER", "lora without from: IN has no adapter in it");
  }
  const Document* document = model.find_document(kInnerConfig);
  if (document == nullptr) {
    return unsupported_hint("copying adapter_config.json of the run into IN",
                            "the adapter in IN has no {}, which has its scale", kInnerConfig);
  }
  CKPT_ASSIGN(const AdapterConfig config, read_adapter_config(kInnerConfig, document->text()));
  Checkpoint out;
  out.format = model.format;
  out.documents.push_back(*document);
  std::vector<Tensor> kept;
  std::set<std::string> names;
  for (Tensor& tensor : model.tensors) {
    std::string name = name_in_adapter(tensor.name, config);
    const bool is_kept = name.empty();
    if (is_kept) name = name_in_model(tensor.name);
    if (!names.insert((is_kept ? "" : "adapter ") + name).second) {
      return unsupported_hint("saving the model with one adapter",
                              "tensor '{}': a second one for '{}'", tensor.name, name);
    }
    tensor.name = std::move(name);
    if (!is_kept) tensor.home = "adapter_model.safetensors";
    (is_kept ? kept : out.tensors).push_back(std::move(tensor));
  }
  model.tensors = std::move(kept);
  model.remove_document(kInnerConfig);
  return out;
}

}  // namespace ckpt
