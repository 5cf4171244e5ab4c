// A projector: its keys, its tensors, their values.
#pragma once

#include <vector>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {

// general.file_type and the keys "clip.*", appended. Fails: kCorrupt: fields that are missing or of
// another kind.
Status add_projector_keys(const ProjectorModel& model, Metadata& metadata);

// The tensors of the towers, in the order in which they are written. An outtype of the source is
// set in `model` by what they are stored as. Fails: kUnsupported, naming them, for tensors that
// neither the towers nor the language model have, and for types that cannot be decoded; kCorrupt
// for layers and sizes that contradict the configuration, and names that come twice.
Result<std::vector<Tensor>> make_projector_tensors(const Checkpoint& checkpoint,
                                                   std::optional<OutType> wanted,
                                                   ProjectorModel& model, Codecs codecs);

// The tensor with values and shape as the row of a tower says, or the two of kFrames. Fails:
// kCorrupt for shapes that are others than the rule's.
Result<std::vector<Tensor>> change_tower_values(Tensor tensor, TowerChange change,
                                                const ProjectorModel& model, Codecs codecs);

}  // namespace ckpt
