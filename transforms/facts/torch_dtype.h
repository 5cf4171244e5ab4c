// The type of a model's floats, as config.json names it: `dtype` (transformers 5) or `torch_dtype`
// (4), with PyTorch's words.
#pragma once

#include <string_view>

#include "core/json/json_edit.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// "bfloat16", "float16" or "float32"; "" for a codec of any other kind.
std::string_view torch_name(const Codec& codec);

// The type in which the tensors of a model are written to GGUF.
enum class OutType : uint8_t { kF32, kF16, kBF16, kQ8_0 };

inline constexpr std::string_view kDtypeKeys[] = {"dtype", "torch_dtype"};

// Whether `level`, an object, says it under either key.
bool says_dtype(const JsonText& level);
// Makes each of the keys that `level` has say `name`. True when one said something else.
bool change_dtype(JsonText& level, std::string_view name);

// The same of config.json, at the root and in text_config. Fails: kCorrupt for a config.json that
// is not an object, or nested too deep to be written again.
Status set_config_dtype(Checkpoint& checkpoint, const Codec& codec);

}  // namespace ckpt
