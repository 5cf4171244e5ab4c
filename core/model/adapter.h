// Adapters: weights that change a model but are not a model.
#pragma once

#include <string>

#include "core/model/checkpoint.h"

namespace ckpt {

// "LoRA adapter of 'Qwen/Qwen3-8B'"; empty if `checkpoint` is not an adapter.
std::string adapter_words(const Checkpoint& checkpoint);

// A hint for messages: how to make a model from it.
inline constexpr std::string_view kMergedAdapter = "ckpt convert BASE OUT --step lora:from=ADAPTER";

}  // namespace ckpt
