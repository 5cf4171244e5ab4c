// The memory that a model takes in addition to its weights, from its configuration.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/checkpoint.h"

namespace ckpt {

// Of one sequence. Attention keeps keys and values of every token, of the last `window` tokens in
// layers with a window, or a state of a fixed size in recurrent layers.
struct SequenceMemory {
  uint64_t kv_layers = 0;            // with full attention
  uint64_t kv_values_per_token = 0;  // keys and values in all of them
  uint64_t window_layers = 0;
  uint64_t window_values_per_token = 0;
  uint64_t window = 0;       // tokens
  uint64_t state_bytes = 0;  // recurrent layers, as F32
  uint64_t max_context = 0;  // tokens; 0 when not stated
};

// From config.json or GGUF's keys. nullopt where they do not tell it, or tell of layers that are
// not known here: a guess would be worse.
std::optional<SequenceMemory> sequence_memory(const Checkpoint& checkpoint);

}  // namespace ckpt
