// Values and shapes of tensors, changed as the rows of a tower say.
#pragma once

#include <vector>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {

// One tensor, or the two of kFrames. Fails: kCorrupt for shapes that are others than the rule's.
Result<std::vector<Tensor>> change_tower_values(Tensor tensor, TowerChange change,
                                                const ProjectorModel& model, Codecs codecs);

}  // namespace ckpt
