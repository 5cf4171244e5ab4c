// Fields of config.json that speak of each layer, from the lists of a GGUF's keys.
//
//   head_count_kv  0 0 8 0   ──▶  layer_types  mamba mamba attention mamba, num_key_value_heads 8
#pragma once

#include "core/json/json_read.h"
#include "core/model/metadata.h"
#include "models/models.h"

namespace ckpt {

struct LayerLists {
  const Family& family;
  uint64_t layers;  // without those for multi-token prediction
};

// Takes the value of a row whose key has a number for each layer into `config`, which has what
// earlier rows say. False: a row of another kind.
bool take_layer_list(const KeyRule& rule, const MetaValue& value, const LayerLists& lists,
                     JsonValue& config);

}  // namespace ckpt
