// Notes files of a folder that its users need but that ckpt does not copy.
#pragma once

#include "core/model/checkpoint.h"
#include "core/model/transform.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/steps.h"

namespace ckpt {

// Fails: kUnsupported for a LoRA adapter, where an output needs an entire model, and for a model
// with an adapter in it.
Status check_whole_model(const Checkpoint& checkpoint, const Conversion& conversion);
void note_copied_adapter(const Checkpoint& checkpoint, const Conversion& conversion,
                         const Context& context);

// Removes adapter_config.json from a model that was read from the folder `in` without adapter
// weights: in OUT it would name an adapter that does not exist. Notes this, unless one of `steps`
// merges the adapter.
void leave_adapter(Checkpoint& model, const std::filesystem::path& in,
                   const std::vector<Step>& steps, const Context& context);

// Names code and modules that are missing in `output`, a new folder. Marks `output` as having no
// code, so that the doctor finds what users of OUT would find.
void note_uncopied(Checkpoint& output, const Context& context);

}  // namespace ckpt
