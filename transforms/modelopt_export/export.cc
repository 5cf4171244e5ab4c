#include "transforms/modelopt_export/export.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "core/base/counted.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/base_weights.h"
#include "transforms/facts/file_metadata.h"
#include "transforms/facts/like.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/options.h"
#include "transforms/modelopt_export/quantized_sources.h"
#include "transforms/modelopt_export/tensors.h"
#include "transforms/packed/packed_weights.h"
#include "transforms/packed/quant_summary.h"

namespace ckpt {
namespace {

Status check_unquantized(const Checkpoint& checkpoint) {
  const std::string hint = "--step dequantize before it";
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  const auto places = config ? quant_places(*config) : std::vector<QuantPlace>();
  if (!places.empty()) {
    return unsupported_hint(hint, "config.json has a {} already", places[0].key);
  }
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool is_scale = tensor.name.ends_with(".weight_scale") ||
                          tensor.name.ends_with(".weight_scale_inv") ||
                          tensor.name.ends_with(".input_scale");
    if (tensor.codec->parts.size() == 1 && !is_scale) continue;
    if (mxfp4_of(tensor) != nullptr) continue;
    return unsupported_hint(hint, "tensor '{}' is quantized already ({})", tensor.name,
                            tensor.codec->name);
  }
  return {};
}

// Files that say NVFP4 and hold none of it serve nobody.
Status check_selection(const Selection& selection, const ExportOptions& options) {
  if (!selection.chosen.empty()) return {};
  std::string why = "the checkpoint has no layer that export quantizes";
  std::string hint = "names of layers as ckpt show --tensors prints them";
  const std::string keep = fmt::format("keep={}", fmt::join(options.keep.words, ", keep="));
  const bool has_preset = options.preset != ExportPreset::kDefault || options.recipe != nullptr;
  if (!options.only.empty()) {
    const std::string only = fmt::format("only={}", fmt::join(options.only.words, ", only="));
    why = options.keep.empty()
              ? fmt::format("{} matches no layer of those that can be", only)
              : fmt::format("{} and {} leave none of those that can be", only, keep);
  } else if (has_preset && !options.keep.empty()) {
    why = fmt::format("the preset and {} leave all of them out", keep);
  } else if (has_preset) {
    why = "the preset leaves all of them out";
    hint = "--preset default-input-scale1, which takes all that servers do";
  } else if (!options.keep.empty()) {
    why = fmt::format("{} matches all that would be", keep);
  }
  return misuse_hint(hint, "no layer is left to quantize: {}", why);
}

void note_unused(const ExportJob& job) {
  for (const std::string& glob : job.selection.unmatched) {
    job.context.note("{} matches no layer that could be quantized", glob);
  }
  std::set<std::string> selected, inputs;
  for (const size_t i : job.selection.chosen) {
    selected.insert(job.selection.modules[i]);
    inputs.insert(input_key(job.selection.modules[i]));
  }
  const auto is_stack = [](const std::string& name) {
    return !parts_of_stack(last_word(name)).empty();
  };
  uint64_t weights = 0, activations = 0;
  const bool is_wanted = needs_activations(job.selection);
  for (const auto& [module, amax] : job.calibration.weights) {
    if (!is_stack(module) && selected.count(module) == 0) ++weights;
  }
  for (const auto& [module, amax] : job.calibration.inputs) {
    const bool is_used = is_stack(module) || inputs.count(module) != 0;
    if (!is_used || !is_wanted) ++activations;
  }
  if (weights > 0) {
    job.context.note("{} layers are calibrated but left unquantized", weights);
  }
  if (activations > 0) {
    job.context.note("{} activation maxima are not used", activations);
  }
}

// Matrices under names that no rule knows as experts: Granite 4 hybrid's, for one.
void note_unknown_stacks(const Checkpoint& checkpoint, const ExportJob& job) {
  if (job.options.preset != ExportPreset::kDefault || !job.options.only.empty()) return;
  NameCount stacks;
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const Tensor& tensor = checkpoint.tensors[i];
    const bool is_stack = tensor.shape.size() == 3 && is_plain_float(*tensor.codec) &&
                          std::ranges::min(tensor.shape | std::views::drop(1)) >= 16;
    const bool is_kept = job.options.keep.matches(module_of(tensor.name), tensor.name);
    if (!is_stack || is_kept || !job.selection.modules[i].empty()) continue;
    stacks.add(tensor.name);
  }
  job.context.note(stacks,
                   "stacks of matrices stay as they are; export knows experts by other names");
}

// Notes that names alone tell what a layer is if no table describes the class.
Status note_chosen_by_name(const Checkpoint& checkpoint, const ExportJob& job) {
  CKPT_ASSIGN(const std::optional<JsonText> config, read_config(checkpoint));
  if (!config) return {};
  const JsonText* classes = config->find("architectures");
  const bool has_class = classes != nullptr && !classes->items().empty();
  const std::string name = has_class ? classes->items()[0].as_text().value_or("") : "";
  if (table_of_architecture(name) || table_of_model_type(job.model.model_type)) return {};
  const std::vector<std::string> stay = summarize_names(job.selection.unquantized);
  job.context.note("class '{}' is not known: layers were chosen by their names; unquantized: {}",
                   name.empty() ? job.model.model_type : name,
                   stay.empty() ? "none" : fmt::format("{}", fmt::join(stay, ", ")));
  return {};
}

// transformers writes the type of the weights into the parts' configurations too.
void complete_dtypes(JsonText& config) {
  const JsonText* dtype = config.find("dtype");
  if (dtype == nullptr) return;
  const JsonText value = *dtype;
  for (auto& [key, part] : config.members()) {
    if (part.is_object() && part.find("model_type") != nullptr && !says_dtype(part)) {
      part.set_sorted("dtype", value);
    }
  }
}

// transformers refuses top_k and top_p with do_sample = false when it saves.
Status complete_generation_config(Checkpoint& checkpoint, const Context& context) {
  constexpr std::string_view kName = "generation_config.json";
  CKPT_ASSIGN(auto document, read_json(checkpoint, kName));
  if (!document) return {};
  JsonText& config = document->root;
  const auto is_set = [&](std::string_view key) {
    const JsonText* found = config.find(key);
    return found != nullptr && !found->is_null();
  };
  const JsonText* sampled = config.find("do_sample");
  if ((!is_set("top_k") && !is_set("top_p")) ||
      (sampled != nullptr && sampled->token() == "true")) {
    return {};
  }
  config.set_sorted("do_sample", JsonText::boolean(true));
  checkpoint.set_document(std::string(kName), config.dump(2) + "\n");
  context.note("generation_config.json: do_sample is true, as its top_k and top_p need");
  return {};
}

Status write_documents(Checkpoint& checkpoint, const ExportJob& job, const Fp8Source& source,
                       QuantLayers layers) {
  const bool was_fp8 = !source.weights.empty();
  if (was_fp8 && !job.options.keeps_fp8) CKPT_TRY(remove_expert_type(checkpoint));
  CKPT_TRY(complete_documents(checkpoint, job.context));
  const bool is_of_script = was_fp8 && job.options.recipe == nullptr;
  const QuantConfig made = make_export_config(job, std::move(layers), is_of_script);
  if (made.kv_cache_algo && job.calibration.kv_scales.empty()) {
    job.context.note("the KV cache is declared {} without scales: servers take 1.0",
                     *made.kv_cache_algo);
  }
  CKPT_TRY(write_quant_config(checkpoint, made));
  return job.options.keeps_fp8 ? write_fp8_config(checkpoint, source) : Status();
}

}  // namespace

Status complete_documents(Checkpoint& checkpoint, const Context& context) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (config) {
    complete_dtypes(*config);
    checkpoint.set_document("config.json", config->dump(4));
  } else {
    context.note("config.json is missing; servers need one with a quantization_config");
  }
  return complete_generation_config(checkpoint, context);
}

Result<Checkpoint> export_quantized(Checkpoint checkpoint, const OptionValues& options,
                                    const Context& context) {
  CKPT_TRY(expect_safetensors(checkpoint, "export"));
  CKPT_ASSIGN(ExportOptions parsed, read_export_options(options));
  if (!parsed.recipe_name.empty()) {
    CKPT_ASSIGN(QuantRecipe recipe, read_quant_recipe(parsed.recipe_name, context));
    parsed.recipe = std::make_shared<const QuantRecipe>(std::move(recipe));
  }
  CKPT_ASSIGN(Calibration calibration, take_calibration(checkpoint, parsed, context));
  CKPT_ASSIGN(checkpoint, take_mxfp4(std::move(checkpoint), parsed, context));
  SourceWeights int4;
  CKPT_ASSIGN(checkpoint, take_int4(std::move(checkpoint), parsed, context, int4));
  Fp8Source fp8;
  CKPT_ASSIGN(checkpoint, take_fp8(std::move(checkpoint), context, fp8));
  CKPT_TRY(check_weights_are_read(checkpoint));
  CKPT_TRY(check_unquantized(checkpoint));
  CKPT_TRY(add_amax_from(calibration, parsed, context));
  Checkpoint named = checkpoint;
  if (const auto like = options.find("like")) {
    CKPT_TRY(make_like(named, *like));
    context.note("--like {}: layers are chosen and grouped as in this class", *like);
  }
  CKPT_ASSIGN(const ExportModel model, read_export_model(named));
  CKPT_ASSIGN(const Importance importance, read_importance(named, parsed, context));
  CKPT_TRY(split_experts(checkpoint, model, calibration, parsed, context.codecs));
  CKPT_ASSIGN(const Selection selection, select_modules(checkpoint, model, calibration, parsed));
  CKPT_TRY(check_selection(selection, parsed));
  CKPT_ASSIGN(const std::string fewer,
              check_experts_whole(checkpoint.tensors, selection.modules, model.experts));
  if (!fewer.empty()) context.note(fewer);
  CKPT_TRY(check_recipe_types(selection, calibration, parsed));
  CKPT_TRY(take_recipe_cache(checkpoint, calibration, parsed));
  const ExportJob job{selection, model, calibration, importance, parsed, context};
  note_unused(job);
  note_unknown_stacks(checkpoint, job);
  CKPT_TRY(note_chosen_by_name(named, job));
  QuantLayers layers = list_layers(checkpoint, selection);
  CKPT_TRY(keep_fp8(checkpoint, fp8, selection, parsed, context));
  CKPT_TRY(make_export_tensors(checkpoint, job));
  add_kept_scales(checkpoint, fp8);
  CKPT_TRY(note_second_rounding(checkpoint, int4, {"weights of packed integers"}, context));
  CKPT_TRY(note_second_rounding(checkpoint, fp8.weights, {"weights of FP8"}, context));
  CKPT_TRY(write_documents(checkpoint, job, fp8, std::move(layers)));
  assign_export_files(checkpoint.tensors);
  join_file_metadata(checkpoint);
  return checkpoint;
}

extern constinit const Transform kExport = {
    "export", "NVFP4 or FP8 weights with scales and configuration, as ModelOpt exports them",
    kExportOptions, export_quantized};

}  // namespace ckpt
