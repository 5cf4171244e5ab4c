// Models that MLX saved.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Restores the names, axes and values of the model's release if MLX saved it with others, and adds
// a note. Weights that MLX quantized, and everything else, stay unchanged. Fails: kUnsupported,
// naming MLX: its changes to this class are unknown; kCorrupt: a tensor lacks its partner.
Result<Checkpoint> from_mlx(Checkpoint checkpoint, const Context& context);

// Turns weights that MLX quantized into floats, which are decoded when they are read. Requires:
// find_mlx_tensors() found such weights. Fails: kUnsupported: another mode; kCorrupt: parts do not
// match.
Result<Checkpoint> decode_mlx(Checkpoint checkpoint, Codecs codecs);

}  // namespace ckpt
