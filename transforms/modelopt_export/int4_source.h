// Weights of packed integers (INT4) that become another type: decoded, rounded once more, and
// measured.
//
//   P.weight_packed I32, P.weight_scale  ──▶  BF16(q x scale)  ──▶  NVFP4 or FP8
//
// NVFP4 has no numbers for 5 and 7 steps of a scale, nor for ratios of two BF16 scales: few blocks
// keep their values, and how far the others moved is said. GGUF's Q4_0 takes the same weights
// exactly (docs/INPUTS.md).
// Source: compressed-tensors compressors/pack_quantized/base.py.
#pragma once

#include "transforms/modelopt_export/options.h"
#include "transforms/packed/second_rounding.h"

namespace ckpt {

// `checkpoint` with INT4 of compressed-tensors as BF16 that is decoded when it is read, and no
// statement about it in the documents; `out` keeps it as it was. Others as they are. Fails:
// kCorrupt: parts that do not fit each other; kUnsupported: what join_packed_weights refuses,
// weights that cannot be decoded.
Result<Checkpoint> take_int4(Checkpoint checkpoint, const ExportOptions& options,
                             const Context& context, SourceWeights& out);

}  // namespace ckpt
