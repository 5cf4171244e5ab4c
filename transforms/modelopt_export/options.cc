#include "transforms/modelopt_export/options.h"

#include "transforms/nvfp4/encode_choices.h"

namespace ckpt {

namespace {

constexpr Choice kExportTypes[] = {{"nvfp4", ExportType::kNvfp4},
                                   {"nvfp4-w4a16", ExportType::kNvfp4Weights},
                                   {"fp8", ExportType::kFp8}};
constexpr Choice kPresets[] = {{"default", ExportPreset::kDefault},
                               {"mlp-only", ExportPreset::kMlpOnly},
                               {"experts-only", ExportPreset::kExpertsOnly}};
constexpr std::string_view kKvCacheNames[] = {"", "FP8", "NVFP4"};
constexpr Choice kKvCaches[] = {{"none", 0}, {"fp8", 1}, {"nvfp4", 2}};

}  // namespace

constinit const OptionRule kExportOptions[10] = {
    option::choice("type", kExportTypes, "what to store weights as").required(),
    option::path("amax-from", "DIR|FILE.json",
                 "maxima of activations: an earlier export, a QAT checkpoint, a list"),
    option::choice("preset", kPresets, "which layers").by_default("default"),
    option::glob("keep", "tensors to leave as they are").repeated(),
    option::glob("only", "tensors to quantize; all others stay").repeated(),
    option::yes_no("fresh-weight-amax",
                   "scan the weights, whatever maxima a QAT checkpoint stored"),
    option::choice("rounding", kRoundings, "how scales are divided: gpu multiplies by a reciprocal")
        .by_default("gpu"),
    option::choice("kv-cache", kKvCaches, "the KV cache's format; as the source says when absent"),
    option::choice("search", kScaleSearches, "search for better block scales than the default")
        .by_default("none"),
    option::path("moments", "FILE", "second moments of the layers' inputs, for search=best"),
};

std::string_view ExportOptions::type_name() const {
  return kExportTypes[static_cast<size_t>(type)].name;
}

std::string_view ExportOptions::algo_name() const {
  if (type == ExportType::kFp8) return "FP8";
  return type == ExportType::kNvfp4 ? "NVFP4" : "W4A16_NVFP4";
}

Result<ExportOptions> read_export_options(const OptionValues& options) {
  ExportOptions out;
  out.type = options.choice<ExportType>("type");
  out.preset = options.choice<ExportPreset>("preset");
  out.encode.cpu_rounding = options.choice<bool>("rounding");
  out.encode.search = options.choice<ScaleSearch>("search");
  out.fresh_weight_amax = options.yes("fresh-weight-amax");
  if (const auto format = options.find_choice<size_t>("kv-cache")) {
    out.kv_cache = std::string(kKvCacheNames[*format]);
  }
  if (out.type == ExportType::kFp8 && out.encode.search != ScaleSearch::kNone) {
    return fail(ErrorCode::kUsage, "search: type fp8 has no block scales to search for");
  }
  out.moments = options.text("moments");
  if (!out.moments.empty() && out.encode.search != ScaleSearch::kBest) {
    return fail(ErrorCode::kUsage, "moments: only search=best uses them");
  }
  out.keep = GlobsAndNames(options.all("keep"));
  out.only = GlobsAndNames(options.all("only"));
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
