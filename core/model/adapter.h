// Adapters: weights that change a model and are not one.
#pragma once

#include <string>

#include "core/model/checkpoint.h"

namespace ckpt {

// "LoRA adapter of 'Qwen/Qwen3-8B'"; empty where `checkpoint` is not an adapter.
std::string adapter_words(const Checkpoint& checkpoint);

// A hint: how a model is made of it.
inline constexpr std::string_view kMergedAdapter = "ckpt convert BASE OUT --step lora:from=ADAPTER";

}  // namespace ckpt
