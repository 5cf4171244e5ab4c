// Helps with models of unknown classes: finds a class whose table fits, and lists the assumptions
// of converting by that table.
#pragma once

#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kUnsupported: no table has the class that config.json names. The message names the most
// similar class. If that class fits, the hint names the option that converts by its table.
Status require_table(const Checkpoint& input, Codecs codecs);

// Notes the assumptions of converting a model by the table of another class. `config` is the
// config.json of the model. Fails: kUnsupported: the activation differs from that of the class, or
// the model's tensors do not match the table of the class.
Status note_assumptions(const JsonValue& config, const std::vector<NamedTensor>& tensors,
                        const Model& model, const Context& context);

}  // namespace ckpt
