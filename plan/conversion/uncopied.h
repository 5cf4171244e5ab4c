// Notes on files of a folder that matter to its readers, and that ckpt does not copy.
#pragma once

#include "core/model/checkpoint.h"
#include "core/model/transform.h"
#include "plan/conversion/steps.h"

namespace ckpt {

// Removes adapter_config.json from a model that is read from the folder `in`, whose weights are not
// the adapter's: without those it would name an adapter that does not exist. Notes this, unless one
// of `steps` merges the adapter.
void leave_adapter(Checkpoint& model, const std::filesystem::path& in,
                   const std::vector<Step>& steps, const Context& context);

// Names code and modules that are missing in `output`, a new folder. From then on `output` has no
// code: the doctor, which may be asked about it, finds what a reader of OUT would.
void note_uncopied(Checkpoint& output, const Context& context);

}  // namespace ckpt
