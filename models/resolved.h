// The layers of a model: their kinds, and how much each keeps of the text before a token, from
// config.json with the defaults of its class, or from the keys of a GGUF (layers.cc).
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
  std::string type;         // as layer_types names it; "mlp", "moe"; empty where nothing tells
  bool is_sparse = false;   // its MLP is made of experts
  uint64_t kept_values = 0;  // keys and values of a token; of a recurrent layer its whole state

  LayerMemory memory() const { return layer_type(type).kind; }
  bool is_mlp() const { return memory() == LayerMemory::kNone; }
  bool is_experts() const { return type == "moe"; }  // experts alone
  bool is_recurrent() const { return memory() == LayerMemory::kRecurrent; }
  bool is_attention() const { return !is_mlp() && !is_recurrent(); }
};

struct ResolvedModel {
  std::vector<ResolvedLayer> layers;
  uint64_t window = 0;       // tokens, of layers that have one
  uint64_t max_context = 0;  // tokens; 0: not stated
};

// nullopt where nothing tells, or a layer is of a kind that is not known here.
std::optional<ResolvedModel> resolve(const Checkpoint& checkpoint);

// The layers of a model of class `table`, without what they keep. `text` is the text part's
// configuration. Fails: kCorrupt, naming a field that is not a whole number.
Result<std::vector<ResolvedLayer>> resolve_layers(const Family& table, const JsonValue& text,
                                                  uint64_t layers);

// Of a key of a GGUF that holds a whole number, or one for each layer; nullopt where it has none.
std::optional<uint64_t> number_of_layer(const MetaValue* value, uint64_t layer);

// The configuration of the text part, where it is not the root; else nullptr.
const JsonValue* find_text_config(const JsonValue& root);

}  // namespace ckpt
