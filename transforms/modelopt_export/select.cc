#include "transforms/modelopt_export/select.h"

#include <algorithm>
#include <set>

#include "core/base/glob.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/facts/quant_config.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/quantized_sources.h"

namespace ckpt {
namespace {

// Source: NVIDIA Model-Optimizer
// modelopt_recipes/configs/ptq/units/default_disabled_quantizers.yaml; globs over quantizers.
constexpr std::string_view kNeverByDefault =
    "*block_sparse_moe.gate* *linear_attn.conv1d* *self_attention.conv1d* *linear_attn.in_proj_a* "
    "*linear_attn.in_proj_b* *lm_head* *mixer.conv1d* *mlp.gate.* *mlp.shared_expert_gate.* "
    "*output_layer* *proj_out.* *router* mtp.* output.* *embed_vision* *vision_tower* *visual* "
    "*vision_model* *multi_modal_projector*";
// nvfp4_mlp_only, which selects experts as well, and nvfp4_experts_only of
// modelopt_recipes/configs/ptq/presets/model.
constexpr std::string_view kMlpOnly =
    "*mlp*weight_quantizer *.mixer.up_proj.weight_quantizer *.mixer.down_proj.weight_quantizer";
constexpr std::string_view kExpertsOnly =
    "*block_sparse_moe*weight_quantizer *.experts.*weight_quantizer";
// Last words of the names of tables that rows are looked up in.
constexpr std::string_view kTables[] = {"wte", "wpe", "shared", "tok_embeddings"};

bool is_table(std::string_view module) {
  const std::string_view word = last_word(module);
  return word.find("embed") != std::string_view::npos ||
         std::ranges::find(kTables, word) != std::end(kTables);
}

// Layer `layers` and those behind it in "….layers.61.mlp.up_proj".
bool is_next_token_layer(std::string_view module, const ExportModel& model) {
  if (model.next_token_layers == 0) return false;
  constexpr std::string_view kLayers = "layers.";
  const size_t at = module.find(kLayers);
  if (at == std::string_view::npos) return false;
  module.remove_prefix(at + kLayers.size());
  const auto index = take_leading<uint64_t>(module);
  return index && *index >= model.layers;
}

GlobList compiled(std::string_view globs) { return GlobList(split_words<std::string>(globs)); }

// The choice of layers by `options` with this preset.
bool in_preset(const std::string& module, const ExportModel& model, const ExportOptions& options,
               ExportPreset preset) {
  static const GlobList never = compiled(kNeverByDefault), mlp_only = compiled(kMlpOnly),
                        experts_only = compiled(kExpertsOnly);
  const std::string quantizer = module + ".weight_quantizer";
  if (never.matches_any(quantizer) || is_table(module)) return false;
  // With FP8 that stays, a server has one type for the experts of all layers.
  if (is_next_token_layer(module, model) && !options.keeps_fp8) return false;
  if (preset == ExportPreset::kDefault || experts_only.matches_any(quantizer)) return true;
  return preset == ExportPreset::kMlpOnly && mlp_only.matches_any(quantizer);
}

// Modules that ModelOpt leaves alone become FP8 only if their names are spelled out, as with
// `only`.
bool becomes_fp8(std::string_view module, std::string_view tensor, const ExportModel& model,
                 const ExportOptions& options) {
  if (!is_fp8_selected(module, tensor, options)) return false;
  return options.fp8.has_name(module, tensor) ||
         in_preset(std::string(module), model, options, ExportPreset::kDefault);
}

// Routers are siblings of the experts they choose, whatever their class.
bool is_router(std::string_view module, const std::set<std::string, std::less<>>& expert_parents) {
  const std::string_view word = last_word(module);
  if (role_of_inputs(word) != ProjectionRole::kRouter) return false;
  return expert_parents.count(module.substr(0, module.size() - word.size())) != 0;
}

// "….mlp." for all tensors called "….mlp.experts…", "….moe." for stacks "….moe.up_proj.weight".
std::set<std::string, std::less<>> find_expert_parents(const Checkpoint& checkpoint) {
  std::set<std::string, std::less<>> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string_view stack = experts_module(tensor.name);
    if (!stack.empty()) out.insert(module_of(stack) + ".");
    const std::string module = module_of(tensor.name);
    const bool is_stack = tensor.shape.size() == 3 &&
                          role_of_inputs(last_word(module)) == ProjectionRole::kMlp;
    if (is_stack) out.insert(module_of(module) + ".");
  }
  return out;
}

// The module of a weight that may be quantized or must be listed; empty for all other tensors.
std::string linear_module(const Tensor& tensor) {
  if (tensor.shape.size() < 2) return {};
  if (!tensor.is_plain_float() && mxfp4_of(tensor) == nullptr) return {};
  if (tensor.name.ends_with(kWeight)) {
    const std::string module = module_of(tensor.name);
    // Norms of single heads are matrices.
    return last_word(module).ends_with("norm") ? std::string() : module;
  }
  return tensor.shape.size() == 3 ? std::string(experts_module(tensor.name)) : std::string();
}

// A stack of experts that stays one.
bool is_kept_stack(const Tensor& tensor, const ExportModel& model) {
  return tensor.shape.size() == 3 && keeps_experts_stacked(model.model_type) &&
         !experts_module(tensor.name).empty();
}

Status check_layer(const Tensor& tensor, const std::string& module, bool is_stack, ExportType type,
                   const ExportModel& model) {
  const Hint hint = keep_hint(module);
  if (is_stack && !is_nvfp4(type)) {
    return unsupported_hint(keep_hint(tensor.name),
                            "'{}': experts that stay stacked have no form in FP8; expected nvfp4",
                            tensor.name);
  }
  if (tensor.values() == 0) {
    return unsupported_hint(hint, "tensor '{}' is [{}]: it has no values to quantize", tensor.name,
                            fmt::join(tensor.shape, ", "));
  }
  if (is_nvfp4(type) && tensor.row_values() % 16 != 0) {
    return unsupported_hint(hint, "tensor '{}': rows of {} values; NVFP4 needs a multiple of 16",
                            tensor.name, tensor.row_values());
  }
  // ModelOpt gives matrices of one block each, that servers join, one scale; larger ones their own.
  const bool is_one_block =
      type == ExportType::kFp8Blocks && tensor.rows() <= 128 && tensor.row_values() <= 128;
  if (!is_one_block || find_group(module, model.model_type).members.empty()) return {};
  return unsupported_hint(hint,
                          "tensor '{}': FP8 in blocks of a matrix that is one block; expected more "
                          "than 128 rows or columns",
                          tensor.name);
}

// A stack's maxima belong to the experts that were cut from it, or to the stack as a whole.
bool has_weight(const std::string& module, const std::set<std::string>& seen) {
  if (seen.count(module) != 0) return true;
  if (const auto parts = parts_of_stack(last_word(module)); !parts.empty()) {
    if (seen.contains(fmt::format("{}.{}", module_of(module), parts[0]))) return true;
  }
  return seen.contains(std::string(experts_module(module)));
}

Status check_claimed(const Calibration& calibration, const std::set<std::string>& seen) {
  for (const auto& [module, amax] : calibration.weights) {
    if (has_weight(module, seen)) continue;
    return corrupt("'{}' has the maximum of a weight; the weight itself is missing", module);
  }
  return {};
}

// Globs of keep, only and fp8 that match none of the layers; of fp8, none that becomes it.
std::vector<std::string> unmatched_globs(const Checkpoint& checkpoint, const ExportModel& model,
                                         const ExportOptions& options) {
  const std::pair<std::string_view, const GlobsAndNames*> lists[] = {
      {"keep", &options.keep}, {"only", &options.only}, {"fp8", &options.fp8}};
  std::vector<std::string> out;
  for (const auto& [key, list] : lists) {
    std::vector<bool> is_matched(list->words.size());
    for (const Tensor& tensor : checkpoint.tensors) {
      const std::string module = list->empty() ? std::string() : linear_module(tensor);
      const bool is_other =
          list == &options.fp8 && !becomes_fp8(module, tensor.name, model, options);
      if (module.empty() || is_other) continue;
      for (const uint32_t i : list->globs.matching(module)) is_matched[i] = true;
      for (const uint32_t i : list->globs.matching(tensor.name)) is_matched[i] = true;
    }
    for (size_t i = 0; i < is_matched.size(); ++i) {
      if (!is_matched[i]) out.push_back(fmt::format("{}={}", key, list->words[i]));
    }
  }
  return out;
}

bool is_selected(std::string_view module, std::string_view tensor, const ExportModel& model,
                 const Calibration& calibration, const ExportOptions& options) {
  if (options.keep.matches(module, tensor)) return false;
  if (!options.only.empty() && !options.only.matches(module, tensor)) return false;
  const bool is_any_of_them = calibration.is_qat ? options.preset == ExportPreset::kDefault
                                                 : options.only.has_name(module, tensor);
  if (!is_any_of_them && !in_preset(std::string(module), model, options, options.preset)) {
    return false;
  }
  return !calibration.is_qat || find_weight_amax(calibration, module).amax != nullptr;
}

}  // namespace

Result<ExportModel> read_export_model(const Checkpoint& checkpoint) {
  ExportModel out;
  CKPT_ASSIGN(const std::optional<JsonText> config, read_config(checkpoint));
  if (!config) return out;
  const JsonText* text = config->find("text_config");
  CKPT_ASSIGN(const auto values, read_object(checkpoint, "config.json"));
  if (values != nullptr) {
    const JsonValue* inner = find_text_config(*values);
    out.has_tied_head = head_ties(*values).of_text();
    out.layers = layer_count(inner != nullptr ? *inner : *values).value_or(out.layers);
  }
  for (const JsonText* scope : {&*config, text}) {
    if (scope == nullptr || !scope->is_object()) continue;
    out.model_type = scope->find_text("model_type").value_or(out.model_type);
    out.heads = scope->find_whole("num_attention_heads").value_or(out.heads);
    out.kv_heads = scope->find_whole("num_key_value_heads").value_or(out.kv_heads);
    out.next_token_layers =
        scope->find_whole("num_nextn_predict_layers").value_or(out.next_token_layers);
    for (const std::string_view key : split_words(kExpertCounts)) {
      out.experts = scope->find_whole(key).value_or(out.experts);
    }
  }
  if (checkpoint.has_head()) out.has_tied_head = false;
  if (out.next_token_layers != 0 && out.layers == 0) {
    return corrupt(
        "config.json: num_nextn_predict_layers is {}, and num_hidden_layers is not a whole number "
        "above zero; expected one, because layers for multi-token prediction stand behind it",
        out.next_token_layers);
  }
  return out;
}

Result<std::optional<LayerType>> choose_type(std::string_view module, std::string_view tensor,
                                             const ExportModel& model,
                                             const Calibration& calibration,
                                             const ExportOptions& options) {
  if (options.recipe == nullptr) {
    const auto amax = options.has_input_scale_1 ? std::optional(2688.0f) : std::nullopt;
    if (becomes_fp8(module, tensor, model, options)) {
      return std::optional(LayerType{ExportType::kFp8, amax});
    }
    if (!is_selected(module, tensor, model, calibration, options)) {
      return std::optional<LayerType>();
    }
    return std::optional(LayerType{options.type, amax});
  }
  if (options.keep.matches(module, tensor) || is_next_token_layer(module, model) ||
      (!options.only.empty() && !options.only.matches(module, tensor))) {
    return std::optional<LayerType>();
  }
  return choose_layer_type(*options.recipe, {module, model.model_type, is_table(module)});
}

Result<Selection> select_modules(const Checkpoint& checkpoint, const ExportModel& model,
                                 const Calibration& calibration, const ExportOptions& options) {
  const auto expert_parents = find_expert_parents(checkpoint);
  Selection out;
  std::set<std::string> unquantized, seen;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string module = linear_module(tensor);
    out.modules.emplace_back();
    out.types.emplace_back();
    if (module.empty()) continue;
    seen.insert(module);
    const bool is_stack = is_kept_stack(tensor, model);
    const bool is_linear = is_stack || (tensor.shape.size() == 2 && tensor.name.ends_with(kWeight));
    const bool may_be = calibration.is_qat || !is_router(module, expert_parents);
    const std::string& own = is_stack ? tensor.name : module;
    std::optional<LayerType> chosen;
    if (is_linear && may_be) {
      CKPT_ASSIGN(chosen, choose_type(own, tensor.name, model, calibration, options));
    }
    if (chosen) {
      CKPT_TRY(check_layer(tensor, module, is_stack, chosen->type, model));
      out.types.back() = *chosen;
      out.modules.back() = own;
      out.chosen.push_back(out.modules.size() - 1);
    } else {
      unquantized.insert(module);
    }
  }
  out.unmatched = unmatched_globs(checkpoint, model, options);
  if (model.has_tied_head) unquantized.insert("lm_head");
  CKPT_TRY(check_claimed(calibration, seen));
  out.unquantized.assign(unquantized.begin(), unquantized.end());
  return out;
}

Result<std::vector<std::string>> joined_layers(const Checkpoint& checkpoint,
                                               const std::vector<std::string>& modules) {
  CKPT_ASSIGN(const ExportModel model, read_export_model(checkpoint));
  std::vector<std::string> out;
  for (const std::string& module : modules) {
    out.push_back(joined_key(module, find_group(module, model.model_type)));
  }
  return out;
}

}  // namespace ckpt
