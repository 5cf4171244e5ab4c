// Models of classes that no table has: the class whose table fits, and what converting by it
// assumes.
#pragma once

#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kUnsupported if no table has the class that config.json names; the message names the class
// with the most similar parameters and fields, and the hint the option that converts by its table
// if all of them fit.
Status require_table(const Checkpoint& input, Codecs codecs);

// Notes what the conversion of a model by the table of another class assumes; `config` is its own
// config.json. Fails: kUnsupported: a field has another value than that class computes with.
Status note_assumptions(const JsonValue& config, const std::vector<NamedTensor>& tensors,
                        const Model& model, const Context& context);

}  // namespace ckpt
