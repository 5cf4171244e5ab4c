// Models that MLX saved.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// `checkpoint` with the names, axes and values of the model's release, where MLX saved it with
// others; a note says so. Fails: kUnsupported, naming MLX: its changes to the class are not known;
// kCorrupt: a tensor that belongs to another is missing.
Result<Checkpoint> from_mlx(Checkpoint checkpoint, const Context& context);

}  // namespace ckpt
