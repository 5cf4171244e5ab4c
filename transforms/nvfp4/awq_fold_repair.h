// The awq-fold-repair step: norms that ModelOpt folded AWQ scales into as if they multiplied by w,
// although the model computes 1 + w (Qwen3.5, Qwen3-Next); awq_folds.h has the formulas.
//
//   norm           w s            ──▶ (1 + w) s - 1
//   in_proj_a, in_proj_b, gates   ──▶ columns divided by s
//   everything else, documents    ──▶ as they are
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Fails: kUsage: no base; otherwise as read_mixed_model, BaseWeights::open, repair_norm_folds.
Result<Checkpoint> repair_awq_folds(Checkpoint checkpoint, const OptionValues& options,
                                    const Context& context);

}  // namespace ckpt
