// Fields of config.json that need more than a row of the family's table, by subject.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// Converts a number of the file to JSON; a float to its shortest exact decimal.
JsonValue json_of(const MetaValue& value);
// Converts like json_of(), but a list with the same integer for each layer becomes that integer.
JsonValue number_of_layers(const MetaValue& value);

// Adds the ids of special tokens from a file's keys (generation_config.cc).
void add_token_ids(const Metadata& metadata, JsonValue& out);

// Sets the fields that follow from a key with a number per layer. `config` contains the fields of
// earlier rows:
//
//   head_count_kv  0 0 8 0   ──▶  layer_types  mamba mamba attention mamba, num_key_value_heads 8
//
// `layers`: their number without layers for multi-token prediction. Returns false for other keys.
bool take_layer_list(const KeyRule& rule, const MetaValue& value, const Family& family,
                     uint64_t layers, JsonValue& config);

// Type and numbers of the scaling of rotary positions. Here and below, `rope` is the future
// rope_parameters (rope.cc).
void take_rope_scaling(const Checkpoint& file, const Family& family, JsonValue& rope);
// Sets mrope_section from a list of four numbers.
void take_rope_sections(const MetaValue& value, JsonValue& rope);
// Sets dynamic scaling with an alpha and sections.
void take_xd_rope(const Checkpoint& file, const Family& family, JsonValue& rope);
// Sets partial_rotary_factor to `count` divided by the value of `field` in `config`; if there is no
// head_dim, by hidden_size / num_attention_heads.
void take_rotated(std::string_view field, uint64_t count, JsonValue& config, JsonValue& rope);

// Adds the parameters that produce "rope_freqs.weight" and "rope_factors_{long,short}.weight" of
// `file`. The divisors do not determine all numbers of llama3's rule, so low_freq_factor is assumed
// to be 1. Requires rope_theta in `rope`. Fails: kIo; kUnsupported: more values than a head has.
Status add_rope_rule(const Checkpoint& file, const Family& family, JsonValue& rope);

// Puts `rope` into `config`, under the names of transformers 4 and 5.
void finish_rope(const Family& family, JsonValue& rope, JsonValue& config);

// Sets fields of `config` that follow from the presence of tensors; the fields of keys are set
// already. `layers`: num_hidden_layers.
void add_tensor_fields(const Checkpoint& file, const Family& family, uint64_t layers,
                       JsonValue& config);

}  // namespace ckpt
