// The fields of config.json that need more than a row of the family's table, by subject.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// A number of the file as JSON; a float as the shortest decimal that is that float.
JsonValue json_of(const MetaValue& value);
// The same, and of a list that says one whole number for each layer, that number.
JsonValue number_of_layers(const MetaValue& value);

// The ids of special tokens among a file's keys (generation_config.cc).
void add_token_ids(const Metadata& metadata, JsonValue& out);

// Sets in `config`, which has what earlier rows set, the fields that follow from a key with a
// number for each layer:
//
//   head_count_kv  0 0 8 0   ──▶  layer_types  mamba mamba attention mamba, num_key_value_heads 8
//
// `layers`: without those for multi-token prediction. Returns false for keys of another kind.
bool take_layer_list(const KeyRule& rule, const MetaValue& value, const Family& family,
                     uint64_t layers, JsonValue& config);

// Type and numbers of the scaling of rotary positions. `rope` becomes rope_parameters, here and
// below (rope.cc).
void take_rope_scaling(const Checkpoint& file, const Family& family, JsonValue& rope);
// mrope_section of a list of four.
void take_rope_sections(const MetaValue& value, JsonValue& rope);
// Dynamic scaling with an alpha and sections.
void take_xd_rope(const Checkpoint& file, const Family& family, JsonValue& rope);
// partial_rotary_factor: `count` values of those that `field` of `config` counts; without head_dim
// of hidden_size / num_attention_heads.
void take_rotated(std::string_view field, uint64_t count, JsonValue& config, JsonValue& rope);

// Adds what "rope_freqs.weight" and "rope_factors_{long,short}.weight" of `file` follow from.
// llama3's rule has one number more than its divisors tell: low_freq_factor is taken
// as 1. `rope` must have rope_theta. Fails: kIo; kUnsupported: more values than a head has.
Status add_rope_rule(const Checkpoint& file, const Family& family, JsonValue& rope);

// Puts `rope` into `config`, under the names of transformers 4 and 5.
void finish_rope(const Family& family, JsonValue& rope, JsonValue& config);

// Sets the fields that follow from which tensors the file has in `config`, which has what the keys
// say; `layers`: num_hidden_layers.
void add_tensor_fields(const Checkpoint& file, const Family& family, uint64_t layers,
                       JsonValue& config);

}  // namespace ckpt
