// Weights that earlier steps compute: an adapter is added to what those steps would have written,
// so that one command equals two. Weights that no adapter changes stay as the steps left them.
#pragma once

#include <map>

#include "core/model/checkpoint.h"

namespace ckpt {

class WrittenWeights {
 public:
  // Makes all tensors Stored.
  explicit WrittenWeights(Checkpoint& checkpoint);
  // Those that still have these values become what they were.
  void give_back(Checkpoint& checkpoint) const;

 private:
  std::map<const ByteSource*, Tensor> computed_;  // by the source of the first part
};

}  // namespace ckpt
