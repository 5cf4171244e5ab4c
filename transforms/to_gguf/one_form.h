// Two checkpoints of one model that are stored in different forms, as tensors that can be compared.
//
//   form                                      differs between
//   names, order and shapes of the format     a Hugging Face folder and a GGUF file
//   "model.language_model." before the names  a text model and one inside a wrapper
//   experts one by one, or as a stack         versions of one model
//
// GGUF has one form for all of them, so what is not GGUF is taken there, as 32-bit floats, which
// round nothing.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

// Whether tensors of the two that mean the same have the same names and shapes: not so between a
// folder and GGUF, a text model and a wrapped one, experts one by one and in stacks.
bool are_in_one_form(const Checkpoint& a, const Checkpoint& b);
// Gives both the tensors that GGUF has for them, values unrounded; tensors of a vision tower are
// left out, with a note. Fails: as read_model and make_gguf_tensors (transforms/to_gguf/).
Status to_one_form(Checkpoint& a, Checkpoint& b, const Context& context);

}  // namespace ckpt
