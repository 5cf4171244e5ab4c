// Tensors of a projector: names, order, types.
#pragma once

#include <vector>

#include "transforms/to_mmproj/families/model.h"

namespace ckpt {

// The tensors of the towers, in the order in which they are written. An outtype of the source is
// set in `model` by what they are stored as. Fails: kUnsupported, naming them, for tensors that
// neither the towers nor the language model have, and for types that cannot be decoded; kCorrupt
// for layers and sizes that contradict the configuration, and names that come twice.
Result<std::vector<Tensor>> make_projector_tensors(const Checkpoint& checkpoint,
                                                   std::optional<OutType> wanted,
                                                   ProjectorModel& model, Codecs codecs);

}  // namespace ckpt
