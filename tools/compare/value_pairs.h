// Which tensors of two checkpoints are compared with each other.
#pragma once

#include <string>
#include <vector>

#include "core/engine/value_chunks.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// The codec that the values of a tensor are stored in.
const Codec& codec_of(const Tensor& tensor);

struct PairedTensors {
  std::vector<ValuePair> values;  // of floats
  std::vector<ValuePair> bytes;   // of integers and types that are only copied
  struct Apart {
    std::string tensor, why;
  };
  std::vector<Apart> apart;  // cannot be compared
};
// By name, those like `glob`.
PairedTensors pair_tensors(const Checkpoint& a, const Checkpoint& b, const std::string& glob);

}  // namespace ckpt
