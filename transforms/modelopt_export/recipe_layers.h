// What a recipe makes of the layers of a checkpoint.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transforms/modelopt_export/options.h"

namespace ckpt {

// How one layer is stored.
struct LayerType {
  ExportType type = ExportType::kNvfp4;
  std::optional<float> input_amax;  // that the recipe gives
};

// A layer as the recipe meets it.
struct RecipeLayer {
  std::string_view module;      // "model.layers.0.mlp.up_proj"; a stack's own name
  std::string_view model_type;  // the language model's
  bool is_table = false;        // rows that are looked up
};

// nullopt: it stays as it is. Fails: kUnsupported, naming the layer: quantizers that no export
// here has.
Result<std::optional<LayerType>> choose_layer_type(const QuantRecipe& recipe,
                                                   const RecipeLayer& layer);

// The cache of the attention that `module` belongs to: nullopt where the recipe leaves it alone.
struct RecipeCache {
  std::string algo;      // "FP8", "NVFP4"
  bool is_cast = false;  // its scales are not stored
  bool operator==(const RecipeCache&) const = default;
};
Result<std::optional<RecipeCache>> choose_cache(const QuantRecipe& recipe, std::string_view module);

}  // namespace ckpt
