// Compares the scales that AWQ moved from linear layers into the preceding norm with the base.
//
//   stored              W' = W / s (columns), input of W': x s
//   folded into a norm  w' = w s          where the norm multiplies by w
//                       w' = (1 + w) s - 1  where it multiplies by 1 + w
//   written by ModelOpt 0.47 for Qwen3.5:  w s, although 1 + w is used; so it computes with 1 + w s
//
// Every other reader of the norm also gets x s: unquantized readers need W / s too, but exporters
// leave them unchanged.
// If w is 0, the norm does not give s; then it comes from the columns of the quantized weights, <W,
// W> / <W, W'>, which averages rounding errors.
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
// Repairs wrong folds of norms with quantized readers, and readers without compensation. Fails:
// kCorrupt, kIo.
Result<FoldRepair> repair_norm_folds(Checkpoint& checkpoint, const MixedModel& model,
                                     const BaseWeights& base);
std::string describe(const FoldRepair& repair);

// Without a base: lists norms with 1 + w that should contain AWQ scales, but whose size does not
// follow the divided columns. Empty for all other models.
Result<NameCount> suspect_norm_folds(const Checkpoint& checkpoint, const MixedModel& model);
// The text of messages about them.
inline constexpr std::string_view kLooksFolded =
    "norms look as if AWQ scales were folded into w of 1 + w";

}  // namespace ckpt
