// The tensors and documents of plain NVFP4.
#pragma once

#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {

// Changes tensors and documents. Fails: kCorrupt: config.json.
Status build_nvfp4(MixedJob& job);

// Tensors of a layer as they will be written: the weight of a kRequantize one, the block scales of
// a kRescale one.
Result<Tensor> encoded_weight(const MixedJob& job, size_t layer);

Result<Tensor> rescaled_blocks(const MixedJob& job, size_t layer);

}  // namespace ckpt
