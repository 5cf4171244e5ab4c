// Keys of a projector: what llama.cpp must know of the towers.
#pragma once

#include "transforms/to_mmproj/families/model.h"

namespace ckpt {

// general.file_type and the keys "clip.*", appended. Fails: kCorrupt: fields that are missing or of
// another kind.
Status add_projector_keys(const ProjectorModel& model, Metadata& metadata);

}  // namespace ckpt
