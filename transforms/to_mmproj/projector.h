// A projector: its keys, tensors and values.
#pragma once

#include <vector>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {

// Appends general.file_type and the keys "clip.*". Fails: kCorrupt: fields are missing or of
// another type.
Status add_projector_keys(const ProjectorModel& model, Metadata& metadata);

// The tensors of the towers, in the order of writing. If the outtype is that of the source, sets it
// in `model` by the stored types. Fails: kUnsupported, naming tensors that belong neither to the
// towers nor to the language model, and types that cannot be decoded; kCorrupt: layers and sizes
// that contradict the configuration, and repeated names.
Result<std::vector<Tensor>> make_projector_tensors(const Checkpoint& checkpoint,
                                                   std::optional<OutType> wanted,
                                                   ProjectorModel& model, Codecs codecs);

// Changes values and shape by the row of a tower; kFrames gives two tensors. Fails: kCorrupt: a
// shape contradicts the rule.
Result<std::vector<Tensor>> change_tower_values(Tensor tensor, TowerChange change,
                                                const ProjectorModel& model, Codecs codecs);

}  // namespace ckpt
