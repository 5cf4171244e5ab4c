// Two checkpoints as the values that they stand for, tensor by tensor.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

struct ValueSides {
  Checkpoint a, b;
  bool are_bridged = false;        // they were stored in different forms: names are GGUF's now
  std::vector<std::string> notes;  // what is left out of the comparison
};

// Quantized weights become what dequantize gives, unrounded; where the two are in different forms
// (a folder and GGUF, text and wrapped, stacks of experts and experts), both take GGUF's.
// Fails: as dequantize and to_one_form.
Result<ValueSides> value_sides(Checkpoint a, Checkpoint b);

}  // namespace ckpt
