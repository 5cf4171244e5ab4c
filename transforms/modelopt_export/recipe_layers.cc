// Rules are matched with the names that quantizers have in the model that ModelOpt holds in memory:
//
//   P.weight_quantizer, P.input_quantizer, P.output_quantizer     of a layer
//   X.experts.gate_up_proj_weight_quantizer, ..._input_quantizer  of experts that are one stack
//   X.experts.3.w1_weight_quantizer, ...                          of DeepSeek-V4's own model
//   A.{q,k,v,p}_bmm_quantizer, A.softmax_quantizer                of an attention
//
// transformers 5 joins the experts of most families, whatever the file has; so experts are asked
// for under both names, and a recipe that tells them apart is refused.
#include <array>

#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/modelopt_export/select.h"

namespace ckpt {
namespace {

// A quantizer behind the last rule; no form: it is off.
using QuantizerState = std::optional<QuantizerForm>;

Result<QuantizerState> state_of(const QuantRecipe& recipe, const std::string& name, bool is_table) {
  bool is_on = false;
  std::optional<QuantizerForm> form;
  for (const QuantizerRule& rule : recipe.rules) {
    if ((rule.is_of_tables && !is_table) || !rule.glob.matches(name)) continue;
    is_on = rule.is_on;
    if (rule.form) form = rule.form;
  }
  if (!is_on) return QuantizerState();
  if (form) return form;
  return unsupported(
      "preset {}: '{}' is enabled without a format, which ModelOpt treats as 8-bit integers; "
      "expected a cfg",
      recipe.name, name);
}

// The part before "weight_quantizer" in the names that a layer may have.
std::vector<std::string> quantizer_fronts(const RecipeLayer& layer) {
  std::string module(layer.module);
  // These classes of transformers call the module of a layer's experts mlp, and their files do not.
  constexpr std::string_view kSparse = ".block_sparse_moe.";
  const bool is_renamed = traits_by_prefix(layer.model_type).has(ModelTrait::kExpertsUnderMlp) ||
                          layer.model_type.starts_with("minimax");
  if (const size_t at = module.find(kSparse); is_renamed && at != module.npos) {
    module.replace(at, kSparse.size(), ".mlp.");
  }
  // NVIDIA's scripts run the model that DeepSeek ships with it: ffn.experts.3.w1, and an expert
  // holds the quantizers of its three layers.
  const bool are_modules =
      traits_by_prefix(layer.model_type).has(ModelTrait::kExpertsAreModules);
  if (are_modules && module.find("experts.") != module.npos) {
    return {module + "_"};
  }
  const auto expert = expert_name(module);
  if (!expert) {
    const std::string_view stack = experts_module(module);
    const bool is_stack = !stack.empty() && module_of(module) == stack;
    return {module + (is_stack ? "_" : ".")};
  }
  std::vector<std::string> out = {module + "."};
  const auto place = stack_part(module);
  if (place) out.push_back(place->stack() + "_");
  // Experts without a gate have a stack of this part alone.
  const ProjectionGroup* group = group_with(expert->rest);
  if (group != nullptr && group->lone == expert->rest) {
    out.push_back(fmt::format("{}{}_", expert->front, expert->rest));
  }
  return out;
}

// The quantizer called `what` of a layer, under each of its names.
Result<QuantizerState> layer_state(const QuantRecipe& recipe, const RecipeLayer& layer,
                                   std::string_view what) {
  std::optional<QuantizerState> out;
  std::string first;
  for (const std::string& front : quantizer_fronts(layer)) {
    const std::string name = front + std::string(what);
    CKPT_ASSIGN(const QuantizerState state, state_of(recipe, name, layer.is_table));
    if (!out) {
      out = state;
      first = name;
    } else if (*out != state) {
      return unsupported(
          "preset {}: '{}' and '{}' are one quantizer, by whether the model holds its experts one "
          "by one, and the recipe makes two things of them",
          recipe.name, first, name);
    }
  }
  return *out;
}

Failure no_such_layer(const QuantRecipe& recipe, const RecipeLayer& layer, std::string_view what) {
  return unsupported_hint(keep_hint(layer.module), "preset {}: '{}': {}", recipe.name, layer.module,
                          what);
}

}  // namespace

Result<std::optional<LayerType>> choose_layer_type(const QuantRecipe& recipe,
                                                   const RecipeLayer& layer) {
  CKPT_ASSIGN(const QuantizerState weight, layer_state(recipe, layer, "weight_quantizer"));
  CKPT_ASSIGN(const QuantizerState input, layer_state(recipe, layer, "input_quantizer"));
  CKPT_ASSIGN(const QuantizerState output, layer_state(recipe, layer, "output_quantizer"));
  if (output) return no_such_layer(recipe, layer, "outputs that are quantized are not exported");
  if (!weight && !input) return std::optional<LayerType>();
  if (!weight) return no_such_layer(recipe, layer, "inputs are quantized and weights are not");
  if (layer.is_table) return no_such_layer(recipe, layer, "embeddings are not quantized here");
  if (weight->constant_amax || weight->is_cast || (input && input->is_cast)) {
    return no_such_layer(recipe, layer,
                         "weights with a constant_amax, or a use_constant_amax of a layer, are "
                         "not exported");
  }
  LayerType out;
  if (input) out.input_amax = input->constant_amax;
  const bool is_same = input && input->numbers == weight->numbers;
  if (weight->numbers == Scheme::kNvfp4 && (is_same || !input)) {
    out.type = input ? ExportType::kNvfp4 : ExportType::kNvfp4Weights;
  } else if (weight->numbers == Scheme::kFp8Tensor && is_same) {
    out.type = ExportType::kFp8;
  } else if (weight->numbers == Scheme::kFp8Block && !input) {
    out.type = ExportType::kFp8Blocks;
  } else {
    return no_such_layer(recipe, layer,
                         input ? "weights and inputs of two formats are not exported"
                               : "FP8 weights without their inputs are exported in blocks alone");
  }
  return std::optional(out);
}

Result<std::optional<RecipeCache>> choose_cache(const QuantRecipe& recipe,
                                                std::string_view module) {
  constexpr std::array<std::string_view, 5> kBeside = {"q_bmm", "p_bmm", "softmax", "k_bmm",
                                                       "v_bmm"};
  std::array<QuantizerState, 5> states;
  const std::string front = std::string(module) + ".";
  for (size_t i = 0; i < kBeside.size(); ++i) {
    CKPT_ASSIGN(states[i], state_of(recipe, front + std::string(kBeside[i]) + "_quantizer", false));
  }
  if (states[0] || states[1] || states[2] || states[3] != states[4]) {
    return unsupported(
        "preset {}: '{}': of attention the keys and values alone are quantized here, both in the "
        "same way",
        recipe.name, module);
  }
  if (!states[3]) return std::optional<RecipeCache>();
  const QuantizerForm& form = *states[3];
  if (form.numbers == Scheme::kFp8Block || form.constant_amax) {
    return unsupported(
        "preset {}: '{}.k_bmm_quantizer': expected fp8 or nvfp4 without constant_amax", recipe.name,
        module);
  }
  const bool is_fp8 = form.numbers == Scheme::kFp8Tensor;
  return std::optional(RecipeCache{is_fp8 ? "FP8" : "NVFP4", form.is_cast});
}

}  // namespace ckpt
