// The list of transforms, and all else that other folders use; they include only this header.
#pragma once

#include "core/model/transform.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/recipes/recipe.h"
#include "transforms/packed/mlx.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/quant_summary.h"
#include "transforms/to_gguf/general/general.h"
#include "transforms/to_gguf/one_form.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/tokenizer/files.h"
#include "transforms/tokenizer/findings.h"

namespace ckpt {

Transforms all_transforms();
const Transform* find_transform(std::string_view name);

// The architectures that to-gguf converts, as in config.json, for `ckpt list families`.
struct FamilyInfo {
  std::string_view name;           // "qwen35"
  std::string_view architectures;  // "Qwen3_5ForCausalLM ...", separated by spaces
  bool has_projector = false;      // to-mmproj supports some of them
  bool has_wrapper = false;        // vl-wrap and vl-unwrap know a vision class that contains it
  bool comes_back = false;         // from-gguf makes a folder for some of them, or their text part
  // The linear layers that --to nvfp4 rejects: "experts", as stacks, or "narrow rows" of fewer than
  // 16 values; empty if it accepts all.
  std::string_view not_in_nvfp4 = {};
  bool has_fp8_export = false;     // --to fp8 accepts all of its linear layers
};
std::vector<FamilyInfo> all_families();

// Values of --to: mixtures, which choose a type for each tensor.
struct TypeInfo {
  std::string_view name;
  std::string_view base;   // the type of most tensors
  uint32_t number;         // llama.cpp's number, stored as general.file_type
  std::string_view alias;  // shorter name, or empty
  uint32_t target_place;   // rank for size targets; 0: not a candidate
};
std::vector<TypeInfo> all_types();

}  // namespace ckpt
