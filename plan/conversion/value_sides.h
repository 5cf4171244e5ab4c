// Two checkpoints as decoded values, tensor by tensor, for comparison.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

struct ValueSides {
  Checkpoint a, b;
  bool are_bridged = false;        // different forms: both now have GGUF names
  std::vector<std::string> notes;  // what the comparison omits
};

// Dequantizes quantized weights without rounding. If the two have different forms (a folder and a
// GGUF, text and wrapped, stacks of experts and single experts), both get the form of a GGUF.
// Fails: as dequantize and to_one_form.
Result<ValueSides> value_sides(Checkpoint a, Checkpoint b);

}  // namespace ckpt
