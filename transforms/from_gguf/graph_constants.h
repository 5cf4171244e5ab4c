// What llama.cpp's graph of an architecture does, and no key of a GGUF says.
#pragma once

#include "core/json/json_read.h"
#include "transforms/to_gguf/families/families.h"

namespace ckpt {

// Sets those fields in `config`, which has what the keys say; `layers`: num_hidden_layers.
Status add_graph_constants(const Family& family, uint64_t layers, JsonValue& config);

}  // namespace ckpt
