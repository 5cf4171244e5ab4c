// The list of transforms: the only header of this folder that others include.
#pragma once

#include "core/transform.h"

namespace ckpt {

Transforms all_transforms();
const Transform* find_transform(std::string_view name);

// Names of the architectures that to-gguf knows, as in config.json, for `ckpt list families`.
struct FamilyInfo {
  std::string_view name;           // "qwen35"
  std::string_view architectures;  // "Qwen3_5ForCausalLM, ..."
};
std::vector<FamilyInfo> all_families();

// What --to takes: mixtures, which choose a type for each tensor.
struct TypeInfo {
  std::string_view name;  // "q4_k_m"
  std::string_view base;  // "q4_k": the type of most tensors
};
std::vector<TypeInfo> all_types();

}  // namespace ckpt
