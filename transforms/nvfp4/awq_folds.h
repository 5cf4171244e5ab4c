// Scales that AWQ moved out of linear layers into the norm before them, compared with the base.
//
//   stored              W' = W / s (columns), input of W': x s
//   folded into a norm  w' = w s          where the norm multiplies by w
//                       w' = (1 + w) s - 1  where it multiplies by 1 + w
//   written by ModelOpt 0.47 for Qwen3.5:  w s  in spite of 1 + w; the layer computes with 1 + w s
//
// Every other reader of the norm sees x s too: unquantized ones need W / s as well, and exporters
// leave them as they were.
// S cannot be had from the norm where w is 0; there it comes from the columns of the quantized
// weights, <W, W> / <W, W'>, whose rounding errors average out.
// Source: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py (fuse_prequant_layernorm).
#pragma once

#include <string>
#include <vector>

#include "core/base/counted.h"
#include "transforms/facts/base_weights.h"
#include "transforms/nvfp4/mixed_model.h"

namespace ckpt {

struct FoldRepair {
  uint64_t norms = 0, readers = 0, lost_columns = 0;
  NameCount unclear;  // norms
  bool is_empty() const { return norms + readers + unclear.count() == 0; }
};
// Fixes wrong folds and readers without compensation, of norms whose readers are quantized. Fails:
// kCorrupt, kIo.
Result<FoldRepair> repair_norm_folds(Checkpoint& checkpoint, const MixedModel& model,
                                     const BaseWeights& base);
std::string describe(const FoldRepair& repair);

// Without a base: norms that multiply by 1 + w, behind which AWQ scales must have been folded, but
// whose size does not follow the columns that were divided. None of all other models.
Result<NameCount> suspect_norm_folds(const Checkpoint& checkpoint, const MixedModel& model);
// The words of messages about them.
inline constexpr std::string_view kLooksFolded =
    "norms look as if AWQ scales were folded into w of 1 + w";

}  // namespace ckpt
