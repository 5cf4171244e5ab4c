// Rotary scaling from the tensors that hold its divisors (to_gguf/rope.cc, backwards).
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Adds to rope_parameters what "rope_freqs.weight" and "rope_factors_{long,short}.weight" of `file`
// follow from. llama3's rule has one number more than its divisors tell: low_freq_factor is taken
// as 1. `rope` must have rope_theta. Fails: kIo; kUnsupported: more values than a head has.
Status add_rope_rule(const Checkpoint& file, JsonValue& rope);

}  // namespace ckpt
