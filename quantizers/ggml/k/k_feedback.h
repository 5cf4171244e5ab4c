// Rounds codes of K-quants again with error feedback (core/chunks/error_feedback.h), keeping the
// scales and minimums of the blocks.
//
// Each run of columns in each row is handled separately: values are rounded from first to last, and
// later values compensate for the effect of errors on the output. A run keeps its codes unless the
// new ones cost less under the same second moments, so no block gets worse by that measure. Runs
// may begin and end anywhere in a block.
#pragma once

#include "core/model/codec.h"
#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {

// `blocks` hold an encoder's result for the same rows; their scales stay. Requires: the run length
// divides the row length.
template <class Block>
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, Block* blocks);

}  // namespace ckpt
