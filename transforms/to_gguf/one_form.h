// Makes two checkpoints of one model comparable if they are stored in different forms.
//
//   form                                      differs between
//   names, order and shapes of the format     a Hugging Face folder and a GGUF file
//   "model.language_model." before the names  a text model and one inside a wrapper
//   single experts, or stacks                 versions of one model
//
// GGUF has a single form, so checkpoints in other formats are converted to it, as 32-bit floats to
// avoid rounding.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Whether corresponding tensors of both have the same names and shapes. They differ between a
// folder and a GGUF, a text model and a wrapped one, single experts and stacks.
bool are_in_one_form(const Checkpoint& a, const Checkpoint& b);
// Replaces the tensors of both by those of a GGUF, with unrounded values; omits tensors of vision
// towers, with a note. Fails: as read_model and make_gguf_tensors (transforms/to_gguf/).
Status to_one_form(Checkpoint& a, Checkpoint& b, const Context& context);

// The parameters that no tensor holds, by the family's table; empty if there is no table. Fails: as
// expected_parameters().
Result<std::vector<std::string>> missing_names(const Checkpoint& checkpoint, Codecs codecs);

}  // namespace ckpt
