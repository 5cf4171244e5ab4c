// Fields of config.json that follow from which tensors a GGUF has.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// Sets them in `config`, which has what the keys say; `layers`: num_hidden_layers.
void add_tensor_fields(const Checkpoint& file, const Family& family, uint64_t layers,
                       JsonValue& config);

}  // namespace ckpt
