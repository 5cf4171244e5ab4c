// Names of tensors in an adapter, as trainers write them, and the modules of a model they mean.
//
//   base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight   PEFT
//   base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight   raw state dicts
//   model.layers.0.self_attn.q_proj.lora_a                           MLX
//
// Names that wrappers add (_fsdp_wrapped_module, _orig_mod, ...) are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

enum class AdapterPart : uint8_t {
  kA,           // [r, in]
  kB,           // [out, r]
  kBBias,       // added to the bias, scaled
  kTurnedA,     // MLX: [in, r]
  kTurnedB,     // MLX: [r, out]
  kEmbeddingA,  // [r, vocabulary]
  kEmbeddingB,  // [dim, r]
  kMagnitude,   // DoRA
  kTokens,      // rows that replace rows
  kNewWeight,   // replaces the weight
  kNewBias,     // replaces the bias
  kBaseCopy,    // the base's own weight again
};

struct AdapterKey {
  std::string module;  // "model.layers.0.self_attn.q_proj"
  AdapterPart part;
  std::string adapter = {};  // the name it was given in the model: "default"; empty: none
};
// nullopt: not the name of anything that an adapter holds.
std::optional<AdapterKey> parse_adapter_key(std::string_view name);

// Names under which a model may have the module, likeliest first, some twice: text classes and the
// vision-language classes around them name the same layers differently.
std::vector<std::string> model_names(const std::string& module);

}  // namespace ckpt
