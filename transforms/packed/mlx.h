// Models that MLX saved.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// `checkpoint` with the names, axes and values of the model's release, where MLX saved it with
// others; a note says so. Weights that MLX quantized stay as they are, with everything else.
// Fails: kUnsupported, naming MLX: its changes to the class are not known; kCorrupt: a tensor that
// belongs to another is missing.
Result<Checkpoint> from_mlx(Checkpoint checkpoint, const Context& context);

// `checkpoint` with weights that MLX quantized as floats, which are decoded when they are read.
// Requires: find_mlx_tensors() found such. Fails: kUnsupported: a mode that is not read; kCorrupt:
// parts that do not fit each other.
Result<Checkpoint> decode_mlx(Checkpoint checkpoint, Codecs codecs);

}  // namespace ckpt
