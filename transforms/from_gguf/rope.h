// Rotary positions from a file's keys, and from the tensors that hold their divisors
// (to_gguf/rope.cc, backwards). `rope` becomes rope_parameters.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// Type and numbers of scaling.
void take_rope_scaling(const Checkpoint& file, const Family& family, JsonValue& rope);
// mrope_section of a list of four.
void take_rope_sections(const MetaValue& value, JsonValue& rope);
// partial_rotary_factor: `count` values of those that `field` of `config` counts; without head_dim
// of hidden_size / num_attention_heads.
void take_rotated(std::string_view field, uint64_t count, JsonValue& config, JsonValue& rope);

// Adds what "rope_freqs.weight" and "rope_factors_{long,short}.weight" of `file` follow from.
// llama3's rule has one number more than its divisors tell: low_freq_factor is taken
// as 1. `rope` must have rope_theta. Fails: kIo; kUnsupported: more values than a head has.
Status add_rope_rule(const Checkpoint& file, const Family& family, JsonValue& rope);

// Puts `rope` into `config`, under the names of transformers 4 and 5.
void finish_rope(const Family& family, JsonValue& rope, JsonValue& config);

}  // namespace ckpt
