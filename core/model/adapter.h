// Adapters: weights that change a model and are not one.
#pragma once

#include <string>

#include "core/model/checkpoint.h"

namespace ckpt {

// "LoRA adapter of 'Qwen/Qwen3-8B'"; empty where `checkpoint` is not an adapter.
std::string adapter_words(const Checkpoint& checkpoint);

// A hint: the folder to use instead.
inline constexpr std::string_view kMergedAdapter =
    "the folder that peft's merge_and_unload() and save_pretrained() make of it and its base model";

}  // namespace ckpt
