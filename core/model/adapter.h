// Adapters: weights that change a model but are not a model.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Returns "LoRA adapter of 'Qwen/Qwen3-8B'"; empty if `checkpoint` is not an adapter.
std::string adapter_words(const Checkpoint& checkpoint);

// Whether the tensors are those of a model and an adapter, as PEFT holds them in memory:
// "X.base_layer.weight" next to "X.lora_A.default.weight".
bool has_inner_adapter(const Checkpoint& checkpoint);

// A hint for messages: how to make a model from an adapter.
inline constexpr std::string_view kMergedAdapter = "ckpt convert BASE OUT --step lora:from=ADAPTER";

// Fails: kUnsupported for an adapter, with kMergedAdapter followed by `other` as hint, and for a
// model with an adapter in it.
Status require_model(const Checkpoint& checkpoint, std::string_view other = "");

}  // namespace ckpt
