// Weights of a GGUF that an adapter was added to and that are still to be encoded, in the type that
// they had or in one that the step quantize chooses.
#pragma once

#include "core/computed/computed_source.h"
#include "core/model/checkpoint.h"

namespace ckpt {

inline bool reads_sum(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  if (computed == nullptr) return false;
  bool found = computed->kind() == ComputedSource::Kind::kLowRank;
  computed->each_input([&](const Slice& input) { found = found || reads_sum(*input.source); });
  return found;
}

inline bool is_sum(const Tensor& tensor) {
  const auto type = plain_dtype(*tensor.codec);
  if (tensor.is_stored() || !type || !is_block_type(*type)) return false;
  bool found = false;
  each_slice(*tensor.recoded().from,
             [&](const Slice& slice) { found = found || reads_sum(*slice.source); });
  return found;
}

}  // namespace ckpt
