// Codes of Q2_K to Q6_K rounded again with error feedback (core/chunks/error_feedback.h),
// under the scales and minimums that the blocks have.
//
// For each row and run of columns, on its own: the values are rounded from the first to the last,
// and what an error does to the output is taken out of later ones. A run keeps its codes where they
// cost no more, under the same second moments; so a block is never worse by that measure. Runs may
// begin and end anywhere in a block.
#pragma once

#include "core/model/codec.h"
#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {

// `blocks` hold what an encoder made of the same rows; their scales stay. Requires: a run divides
// the row.
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ2K* blocks);
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ3K* blocks);
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ4K* blocks);
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ5K* blocks);
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ6K* blocks);

}  // namespace ckpt
