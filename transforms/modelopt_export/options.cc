#include "transforms/modelopt_export/options.h"

#include <span>
#include <utility>

namespace ckpt {

constinit const OptionRule kExportOptions[10] = {
    {"type", "nvfp4|nvfp4-w4a16|fp8", "what to store weights as"},
    {"amax-from", "DIR|FILE.json",
     "maxima of activations: an earlier export, a QAT checkpoint, a list"},
    {"preset", "default|mlp-only|experts-only", "which layers"},
    {"keep", "GLOB", "tensors to leave as they are", true},
    {"only", "GLOB", "tensors to quantize; all others stay", true},
    {"fresh-weight-amax", "yes|no", "scan the weights, whatever maxima a QAT checkpoint stored"},
    {"rounding", "gpu|cpu", "how scales are divided: gpu (default) multiplies by a reciprocal"},
    {"kv-cache", "none|fp8|nvfp4", "the KV cache's format; default: as the source says"},
    {"search", "none|four-over-six|sweep|best", "search for better block scales than the default"},
    {"moments", "FILE", "second moments of the layers' inputs, for search=best"},
};

namespace {

template <class T>
using Choices = std::span<const std::pair<std::string_view, T>>;

template <class T>
Status choose(const Options& options, std::string_view key, Choices<T> choices, T& out) {
  const auto text = options.get(key);
  if (!text) return {};
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == *text) {
      out = value;
      return {};
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return fail(ErrorCode::kUsage, "{}: '{}'; expected one of {}", key, *text, names);
}

constexpr std::pair<std::string_view, ExportType> kExportTypes[] = {
    {"nvfp4", ExportType::kNvfp4},
    {"nvfp4-w4a16", ExportType::kNvfp4Weights},
    {"fp8", ExportType::kFp8}};
constexpr std::pair<std::string_view, ExportPreset> kPresets[] = {
    {"default", ExportPreset::kDefault},
    {"mlp-only", ExportPreset::kMlpOnly},
    {"experts-only", ExportPreset::kExpertsOnly}};
constexpr std::pair<std::string_view, bool> kRoundings[] = {{"gpu", false}, {"cpu", true}};
constexpr std::pair<std::string_view, bool> kYesNo[] = {{"yes", true}, {"no", false}};
constexpr std::pair<std::string_view, std::string_view> kKvCaches[] = {
    {"none", ""}, {"fp8", "FP8"}, {"nvfp4", "NVFP4"}};
constexpr std::pair<std::string_view, ScaleSearch> kSearches[] = {
    {"none", ScaleSearch::kNone},
    {"four-over-six", ScaleSearch::kFourOverSix},
    {"sweep", ScaleSearch::kSweep},
    {"best", ScaleSearch::kBest}};

}  // namespace

std::string_view ExportOptions::type_name() const {
  return kExportTypes[static_cast<size_t>(type)].first;
}

std::string_view ExportOptions::algo_name() const {
  if (type == ExportType::kFp8) return "FP8";
  return type == ExportType::kNvfp4 ? "NVFP4" : "W4A16_NVFP4";
}

std::string_view ExportOptions::codec_name() const {
  return type == ExportType::kFp8 ? "fp8_tensor" : "nvfp4_modelopt";
}

Result<ExportOptions> parse_export_options(const Options& options) {
  for (const auto& [key, value] : options.pairs()) {
    bool is_known = false;
    for (const OptionRule& rule : kExportOptions) is_known = is_known || rule.name == key;
    if (!is_known) return fail(ErrorCode::kUsage, "the step export has no option '{}'", key);
  }
  ExportOptions out;
  if (!options.get("type")) {
    return fail(ErrorCode::kUsage, "type is missing; expected nvfp4, nvfp4-w4a16 or fp8");
  }
  CKPT_TRY(choose<ExportType>(options, "type", kExportTypes, out.type));
  CKPT_TRY(choose<ExportPreset>(options, "preset", kPresets, out.preset));
  CKPT_TRY(choose<bool>(options, "rounding", kRoundings, out.encode.cpu_rounding));
  CKPT_TRY(choose<bool>(options, "fresh-weight-amax", kYesNo, out.fresh_weight_amax));
  CKPT_TRY(choose<ScaleSearch>(options, "search", kSearches, out.encode.search));
  if (options.get("kv-cache")) {
    std::string_view format;
    CKPT_TRY(choose<std::string_view>(options, "kv-cache", kKvCaches, format));
    out.kv_cache = std::string(format);
  }
  if (out.type == ExportType::kFp8 && out.encode.search != ScaleSearch::kNone) {
    return fail(ErrorCode::kUsage, "search: type fp8 has no block scales to search for");
  }
  out.moments = options.get("moments").value_or("");
  if (!out.moments.empty() && out.encode.search != ScaleSearch::kBest) {
    return fail(ErrorCode::kUsage, "moments: only search=best uses them");
  }
  out.keep = GlobsAndNames(options.all("keep"));
  out.only = GlobsAndNames(options.all("only"));
  out.amax_from = options.get("amax-from").value_or("");
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
