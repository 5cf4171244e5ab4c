// Weights of a GGUF that an adapter was added to and that are still to be encoded, in the type that
// they had or in one that the step quantize chooses.
#pragma once

#include "core/computed/low_rank_source.h"
#include "core/model/checkpoint.h"

namespace ckpt {

inline bool is_sum(const Tensor& tensor) {
  const auto type = plain_dtype(*tensor.codec);
  if (tensor.is_stored() || !type || !is_block_type(*type)) return false;
  bool found = false;
  each_slice(*tensor.recoded().from,
             [&](const Slice& slice) { found = found || reads_sum(*slice.source); });
  return found;
}

}  // namespace ckpt
