// The type of a model's floats in config.json: `dtype` (transformers 5) or `torch_dtype` (4), with
// PyTorch's names.
#pragma once

#include <string_view>

#include "core/json/json_edit.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// "bfloat16", "float16" or "float32"; "" for any other codec.
std::string_view torch_name(const Codec& codec);

// The type of a model's tensors when they are written to GGUF.
enum class OutType : uint8_t { kF32, kF16, kBF16, kQ8_0 };

inline constexpr std::string_view kDtypeKeys[] = {"dtype", "torch_dtype"};

// Whether the object `level` has either key.
bool says_dtype(const JsonText& level);
// Sets each key that `level` has to `name`. Returns whether a value changed.
bool change_dtype(JsonText& level, std::string_view name);

// Does the same in config.json, at the root and in text_config. Fails: kCorrupt if config.json is
// not an object, or nested too deeply to be written.
Status set_config_dtype(Checkpoint& checkpoint, const Codec& codec);

}  // namespace ckpt
