// Hyper-parameters of a model as keys of a GGUF.
#pragma once

#include "transforms/to_gguf/model.h"

namespace ckpt {

// The keys "<architecture>.*" and general.file_type, appended.
Status add_model_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

// The keys that stand before all others of the model.
Status add_early_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata);

}  // namespace ckpt
