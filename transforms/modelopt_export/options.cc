#include "transforms/modelopt_export/options.h"

#include "transforms/facts/like.h"

namespace ckpt {

namespace {

constexpr Choice kExportTypes[] = {{"nvfp4", ExportType::kNvfp4},
                                   {"nvfp4-w4a16", ExportType::kNvfp4Weights},
                                   {"fp8", ExportType::kFp8}};
constexpr std::string_view kRecipeEndings[] = {".yaml", ".yml"};
// kRecipe: a file, or the name of one that ModelOpt ships.
enum class PresetWord : int8_t {
  kRecipe = -1,
  kDefault,
  kMlpOnly,
  kExpertsOnly,
  kDefaultInputScale1,
  kMlpOnlyInputScale1,
  kExpertsOnlyInputScale1,
  kWeightOnly
};
constexpr Choice kPresets[] = {{"default", PresetWord::kDefault},
                               {"mlp-only", PresetWord::kMlpOnly},
                               {"experts-only", PresetWord::kExpertsOnly},
                               {"default-input-scale1", PresetWord::kDefaultInputScale1},
                               {"mlp-only-input-scale1", PresetWord::kMlpOnlyInputScale1},
                               {"experts-only-input-scale1", PresetWord::kExpertsOnlyInputScale1},
                               {"weight-only", PresetWord::kWeightOnly}};
constexpr std::string_view kKvCacheNames[] = {"", "FP8", "NVFP4"};
constexpr Choice kRests[] = {{"bf16", false}, {"fp8", true}};
constexpr Choice kKvCaches[] = {{"none", 0}, {"fp8", 1}, {"nvfp4", 2}};

// The layers of each PresetWord.
constexpr ExportPreset kPresetLayers[] = {ExportPreset::kDefault,     ExportPreset::kMlpOnly,
                                          ExportPreset::kExpertsOnly, ExportPreset::kDefault,
                                          ExportPreset::kMlpOnly,     ExportPreset::kExpertsOnly,
                                          ExportPreset::kDefault};

// Further facts of a preset: which type it is for, and what of the inputs is known.
Status take_preset(const OptionValues& options, ExportOptions& out) {
  const auto word = options.choice<PresetWord>("preset");
  if (word == PresetWord::kRecipe) {
    out.recipe_name = options.text("preset");
    return {};
  }
  out.preset = kPresetLayers[static_cast<size_t>(word)];
  if (word <= PresetWord::kExpertsOnly) return {};
  const std::string_view name = kPresets[static_cast<size_t>(word)].name;
  const bool is_weight_only = word == PresetWord::kWeightOnly;
  if (out.type == ExportType::kFp8) {
    return misuse_hint("--to nvfp4", "preset {} makes NVFP4; found type fp8", name);
  }
  const bool has_fp8 = !options.all("fp8").empty();  // whose inputs are quantized in any case
  if (is_weight_only) {
    out.type = ExportType::kNvfp4Weights;
  } else if (out.type == ExportType::kNvfp4Weights && !has_fp8) {
    return misuse_hint("--to nvfp4", "preset {}: type nvfp4-w4a16 stores nothing of inputs", name);
  }
  if (!options.text("amax-from").empty() && !(is_weight_only && has_fp8)) {
    return misuse_hint(
        "one of the two", "preset {} {} and amax-from has maxima of them", name,
        is_weight_only ? "stores nothing of inputs" : "gives all inputs a scale of 1.0");
  }
  out.has_input_scale_1 = !is_weight_only;
  return {};
}

// The possible forms of a folder of two types.
Status check_mixed(const ExportOptions& options) {
  if (!options.fp8.empty() && !options.recipe_name.empty()) {
    return misuse_hint("a recipe with a rule for these layers",
                       "preset {} says which layers are FP8, and fp8 would too",
                       options.recipe_name);
  }
  if (options.fp8.empty() && !options.keeps_fp8) return {};
  if (!options.fp8.empty() && options.keeps_fp8) {
    return misuse_hint("one of the two",
                       "fp8 makes FP8 with a scale a tensor, and rest=fp8 keeps FP8 with a scale a "
                       "block; no server takes both in one folder");
  }
  const bool has_no_inputs = options.type == ExportType::kNvfp4Weights;  // by --to or by the preset
  if (options.type == ExportType::kNvfp4 || (has_no_inputs && !options.keeps_fp8)) return {};
  return misuse_hint(
      has_no_inputs ? "--to nvfp4 with a preset that ends in -input-scale1" : "--to nvfp4",
      "{} goes with type nvfp4{}; found {}", options.keeps_fp8 ? "rest=fp8" : "fp8",
      options.keeps_fp8 ? "" : " or nvfp4-w4a16", options.type_name());
}

}  // namespace

constinit const OptionRule kExportOptions[13] = {
    option::choice("type", kExportTypes, "what to store weights as").required(),
    option::path("amax-from", "DIR|FILE.json",
                 "maxima of activations: an earlier export, a QAT checkpoint, a list"),
    option::choice(
        "preset", kPresets,
        "which layers; -input-scale1 and weight-only need no maxima of activations; or a "
        "recipe of ModelOpt: a file, or the NAME of one that it ships")
        .by_default("default")
        .or_file(kRecipeEndings)
        .or_word("the name of a recipe of ModelOpt", shipped_recipes),
    option::glob("keep", "tensors to leave as they are").repeated(),
    option::glob("only", "tensors to quantize; all others stay").repeated(),
    option::yes_no("fresh-weight-amax",
                   "scan the weights and ignore the maxima stored in a QAT checkpoint"),
    option::choice("rounding", kRoundings, "how scales are divided: gpu multiplies by a reciprocal")
        .by_default("gpu"),
    option::choice("kv-cache", kKvCaches, "format of the KV cache; default: as in the source"),
    option::choice("search", kScaleSearches, "search for better block scales than the default")
        .by_default("none"),
    option::path("moments", "FILE", "second moments of the layers' inputs, for search=best"),
    option::glob("fp8", "layers to store as FP8, with NVFP4 (MIXED_PRECISION)").repeated(),
    option::choice("rest", kRests,
                   "type of FP8 layers of the source that are not selected; fp8 keeps them")
        .by_default("bf16"),
    kLikeRule,
};

std::string_view ExportOptions::type_name() const {
  return kExportTypes[static_cast<size_t>(type)].name;
}

std::string_view algo_name(ExportType type) {
  // The last as ModelOpt spells it in its files.
  constexpr std::string_view kNames[] = {"NVFP4", "W4A16_NVFP4", "FP8", "fp8_pb_wo"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view ExportOptions::layers_name() const {
  return kPresets[static_cast<size_t>(preset)].name;
}

Result<ExportOptions> read_export_options(const OptionValues& options) {
  ExportOptions out;
  out.type = options.choice<ExportType>("type");
  CKPT_TRY(take_preset(options, out));
  out.encode.cpu_rounding = options.choice<bool>("rounding");
  out.encode.search = options.choice<ScaleSearch>("search");
  out.fresh_weight_amax = options.yes("fresh-weight-amax");
  if (const auto format = options.find_choice<size_t>("kv-cache")) {
    out.kv_cache = std::string(kKvCacheNames[*format]);
  }
  if (out.type == ExportType::kFp8 && out.encode.search != ScaleSearch::kNone) {
    return misuse("search: type fp8 has no block scales to search for");
  }
  out.moments = options.text("moments");
  if (!out.moments.empty() && out.encode.search != ScaleSearch::kBest) {
    return misuse("moments: only search=best uses them");
  }
  out.keep = GlobsAndNames(options.all("keep"));
  out.only = GlobsAndNames(options.all("only"));
  out.fp8 = GlobsAndNames(options.all("fp8"));
  out.keeps_fp8 = options.choice<bool>("rest");
  CKPT_TRY(check_mixed(out));
  out.amax_from = options.text("amax-from");
  return out;
}

GlobsAndNames::GlobsAndNames(const std::vector<std::string>& given) : words(given), globs(given) {
  std::vector<std::string_view> spelled_out;
  for (const std::string& word : words) {
    if (word.find_first_of("*?[") == word.npos) spelled_out.push_back(word);
  }
  names = PartIndex(spelled_out);
}

float scale_from_amax(float amax, float divisor, bool cpu_rounding) {
  return cpu_rounding ? amax / divisor : amax * (1.0f / divisor);
}

}  // namespace ckpt
