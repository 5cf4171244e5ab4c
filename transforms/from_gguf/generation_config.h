// generation_config.json from the keys of a GGUF.
#pragma once

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Ids of special tokens, and how llama.cpp would sample ("general.sampling.*").
JsonValue returned_generation_config(const Checkpoint& file);

}  // namespace ckpt
