// Codes of K-quants rounded again with error feedback (core/chunks/error_feedback.h),
// under the scales and minimums that the blocks have.
//
// For each row and run of columns separately: the values are rounded from the first to the last,
// and later values compensate for the effect of an error on the output. A run keeps its codes if
// the new ones do not have a lower cost under the same second moments, so a block never gets worse
// by that measure. Runs may begin and end anywhere in a block.
#pragma once

#include "core/model/codec.h"
#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {

// `blocks` hold what an encoder made of the same rows; their scales stay. Requires: a run divides
// the row.
template <class Block>
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, Block* blocks);

}  // namespace ckpt
