// Notes on files that the documents of an output name, and that ckpt does not copy into it.
#pragma once

#include "core/model/checkpoint.h"
#include "core/model/transform.h"

namespace ckpt {

// Names code and modules that are missing in `output`, a new folder. From then on `output` has no
// code: the doctor, which may be asked about it, finds what a reader of OUT would.
void note_uncopied(Checkpoint& output, const Context& context);

}  // namespace ckpt
