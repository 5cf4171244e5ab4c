// config.json from the keys of a GGUF: the rows of a family's table, read backwards.
//
//   qwen3.attention.head_count = 32   KeyRule {"attention.head_count", "num_attention_heads ..."}
//        └──────────────▶ "num_attention_heads": 32
//
// Facts without a key come from the existing tensors (biases, a separate head) and
// from a table of constants; everything else is left to the model's class. The caller proves the
// result by making the keys again.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// config.json of a model of `family`. `dtype` is what its weights will be: "bfloat16".
// Fails: kCorrupt for keys of another type than the family's; kUnsupported for factors of rotary
// frequencies that follow no known rule.
Result<JsonValue> returned_config(const Checkpoint& file, const Family& family,
                                  std::string_view dtype);

}  // namespace ckpt
