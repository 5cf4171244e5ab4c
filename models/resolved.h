// The layers of a model: the kind of each, and how many values it caches for earlier tokens. Both
// follow from config.json with the defaults of its class, or from the keys of a GGUF (layers.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/layer_types.h"

namespace ckpt {

struct Family;

struct ResolvedLayer {
  std::string type;         // a word of layer_types, or "mlp" or "moe"; empty: not known
  bool is_sparse = false;   // its MLP consists of experts
  uint64_t kept_values = 0;  // attention: per token; recurrent layers: the entire state
  // Full attention, where the class has other heads there: values of one, and heads of keys.
  uint64_t head = 0, key_heads = 0;

  LayerMemory memory() const { return layer_type(type).kind; }
  bool is_mlp() const { return memory() == LayerMemory::kNone; }
  bool is_experts() const { return type == "moe"; }  // experts without attention
  bool is_recurrent() const { return memory() == LayerMemory::kRecurrent; }
  bool is_attention() const { return !is_mlp() && !is_recurrent(); }
};

struct ResolvedModel {
  std::vector<ResolvedLayer> layers;  // two entries for a layer with attention and a state
  uint64_t window = 0;       // tokens, for layers that have one
  uint64_t max_context = 0;  // tokens; 0: not stated
};

// Returns nullopt if the files do not tell the layers, or a layer is of an unknown kind.
std::optional<ResolvedModel> resolve(const Checkpoint& checkpoint);

// The layers of a model of class `table`; kept_values stays 0. `text` is the configuration of the
// text part. Fails: kCorrupt: a field is not a whole number.
Result<std::vector<ResolvedLayer>> resolve_layers(const Family& table, const JsonValue& text,
                                                  uint64_t layers);

// Reads the value of a GGUF key, which holds one whole number for all layers or a list with one for
// each. nullopt: the key has no such number.
std::optional<uint64_t> number_of_layer(const MetaValue* value, uint64_t layer);

// The keys under which wrappers keep the configuration of their text part.
inline constexpr std::string_view kTextParts[] = {"language_config", "lm_config", "llm_config",
                                                  "text_config"};

// The configuration of the text part, or nullptr if it is the root itself.
const JsonValue* find_text_config(const JsonValue& root);

}  // namespace ckpt
