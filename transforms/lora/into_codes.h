// Adapters merged into weights of safetensors that are stored as codes with scales, NVFP4 and FP8,
// which stay in the codecs they have.
//
//   q_proj, NVFP4 ─▶ F32, + D ─▶ NVFP4     its scale from the sum
//   k_proj, NVFP4 ─▶ F32      ─▶ NVFP4     where servers join both: one tensor scale
//   o_proj, NVFP4 ─▶ o_proj                its bytes
#pragma once

#include "core/model/transform.h"
#include "transforms/lora/into_gguf.h"

namespace ckpt {

// Whether a weight is stored so.
bool holds_codes(const Checkpoint& checkpoint);

// Fails: kUnsupported, naming it: a changed weight that nothing encodes, or whose columns were
// scaled; as `merge`.
Result<Checkpoint> merge_into_codes(Checkpoint checkpoint, const MergeInto& merge,
                                    const GgufMerge& how, KeptShares& kept);

}  // namespace ckpt
