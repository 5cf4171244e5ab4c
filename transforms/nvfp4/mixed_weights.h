// Weights of layers as others compute with them, and as they will be encoded from.
#pragma once

#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {

// Finds the layers that can be taken from the base. Fails: kIo.
Status match_base(MixedJob& job);

// The values that `layer` is encoded from; floats, not yet encoded. `from_base` chooses the base's
// weight, which must be there.
Result<Tensor> target_of(const MixedJob& job, size_t layer, bool from_base);

// The weight that `layer` computes with now: decoded, its scale multiplied in.
Result<Tensor> effective_weight(const MixedJob& job, size_t layer);

std::shared_ptr<const Factors> share(Factors factors);

// a times b, where empty is all 1.
Factors multiply(const Factors& a, const Factors& b);

Factors invert(const Factors& factors);

}  // namespace ckpt
