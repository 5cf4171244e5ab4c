// Which layers are quantized: ModelOpt's default, what a QAT checkpoint says, what was asked for.
//
// A module that nothing names is not left as it is in silence; all that stay unquantized are
// listed, because that list is exclude_modules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transforms/modelopt_export/calibration.h"
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

// Fields of config.json that decide about layers; numbers are 0 where it does not say them.
struct ExportModel {
  std::string model_type;          // the language model's: "qwen3_5_text"
  bool has_tied_head = false;      // lm_head is the embedding, and not in the file
  uint64_t layers = 0;             // num_hidden_layers
  uint64_t next_token_layers = 0;  // behind the last: they predict tokens further on
  uint64_t experts = 0;            // routed ones of a layer
  uint64_t heads = 0, kv_heads = 0;
};
// Fails: kCorrupt: config.json is not a JSON object.
Result<ExportModel> read_export_model(const Checkpoint& checkpoint);

struct Selection {
  std::vector<std::string> modules;  // by tensor: the module to quantize, empty for the others
  std::vector<LayerType> types;      // by tensor: to what
  std::vector<std::string> unquantized;          // modules that stay
  std::vector<std::string> unmatched;  // "keep=GLOB", "only=GLOB", "fp8=GLOB" that match no layer
  std::vector<size_t> chosen;          // the tensors that have a module
};

// Advice to leave the layers unquantized that `glob` matches.
inline Hint keep_hint(std::string_view glob) {
  return {fmt::format("--keep '{}'", glob), Remedy::kKeep};
}

// Whether stacks of experts with rows and columns exchanged ([E, H, 2I], [E, I, H]) are cut too.
// `model_type` is the language model's.
bool takes_exchanged_experts(std::string_view model_type);
// Whether they stay in stacks, which are modules of their own then: "….experts.down_proj".
bool keeps_experts_stacked(std::string_view model_type);
// A module that is such a stack. Others are named without ".weight".
inline bool is_stacked_module(std::string_view module, const Tensor& tensor) {
  return module == tensor.name;
}

// Experts that are stacked in one tensor are cut into a tensor for each, as ModelOpt names them,
// where they will be quantized. Fails: kUnsupported: stacks of another shape.
Status split_experts(Checkpoint& checkpoint, const ExportModel& model,
                     const Calibration& calibration, const ExportOptions& options, Codecs codecs);
// Splits every stack of experts, as split_experts() does.
Status split_all_experts(Checkpoint& checkpoint, Codecs codecs, const ExportModel& model = {});

// Fails: kUnsupported: a layer whose rows cannot be quantized; kCorrupt: maxima without a weight.
Result<Selection> select_modules(const Checkpoint& checkpoint, const ExportModel& model,
                                 const Calibration& calibration, const ExportOptions& options);

// The type for `module`, whose weight is `tensor`; nullopt: it stays. Fails: kUnsupported:
// a recipe asks for what is not exported.
Result<std::optional<LayerType>> choose_type(std::string_view module, std::string_view tensor,
                                             const ExportModel& model,
                                             const Calibration& calibration,
                                             const ExportOptions& options);

// True when it is requested as FP8 with others of NVFP4.
inline bool is_fp8_selected(std::string_view module, std::string_view tensor,
                            const ExportOptions& options) {
  return options.fp8.matches(module, tensor) && !options.keep.matches(module, tensor);
}

}  // namespace ckpt
