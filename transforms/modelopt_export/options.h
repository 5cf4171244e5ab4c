// The options of the export step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/base/part_index.h"
#include "core/model/transform.h"
#include "transforms/modelopt_export/recipes/recipe.h"

namespace ckpt {

// The last one is of recipes alone: FP8 in blocks of 128 x 128, nothing of inputs.
enum class ExportType : uint8_t { kNvfp4, kNvfp4Weights, kFp8, kFp8Blocks };
// Which layers: all of ModelOpt's default, those of an MLP, or the routed experts' alone.
enum class ExportPreset : uint8_t { kDefault, kMlpOnly, kExpertsOnly };

// Globs, and which of them are names spelled out.
struct GlobsAndNames {
  std::vector<std::string> words;  // as given
  GlobList globs;
  PartIndex names;

  GlobsAndNames() = default;
  explicit GlobsAndNames(const std::vector<std::string>& given);
  bool empty() const { return globs.size() == 0; }
  bool matches(std::string_view module, std::string_view tensor) const {
    return globs.matches_any(module) || globs.matches_any(tensor);
  }
  bool has_name(std::string_view module, std::string_view tensor) const {
    return names.find(module) || names.find(tensor);
  }
};

struct ExportOptions {
  ExportType type = ExportType::kNvfp4;
  ExportPreset preset = ExportPreset::kDefault;
  GlobsAndNames keep, only;        // of tensors and modules
  GlobsAndNames fp8;               // the same: stored as FP8 with NVFP4
  bool keeps_fp8 = false;          // FP8 that is not chosen stays FP8; else it becomes BF16
  bool has_input_scale_1 = false;  // every layer's input_scale is 1.0, whatever its inputs are
  std::shared_ptr<const QuantRecipe> recipe;  // says which layers instead of the preset; null: none
  std::string recipe_name;                    // of the preset option, to be read; empty: none
  std::string amax_from;                      // empty: none
  std::string moments;                        // empty: none
  bool fresh_weight_amax = false;
  EncodeOptions encode;
  std::optional<std::string> kv_cache;  // "FP8", "NVFP4", "" for none; nullopt: as the source says

  bool has_activations() const { return type != ExportType::kNvfp4Weights; }
  std::string_view type_name() const;    // "nvfp4-w4a16"
  std::string_view layers_name() const;  // "mlp-only": the preset of these layers
};

inline bool has_inputs(ExportType type) {
  return type == ExportType::kNvfp4 || type == ExportType::kFp8;
}
inline bool is_nvfp4(ExportType type) {
  return type == ExportType::kNvfp4 || type == ExportType::kNvfp4Weights;
}
// input_scale = amax / this: 6 x 448 or 448.
inline float activation_divisor(ExportType type) { return is_nvfp4(type) ? 2688.0f : 448.0f; }
std::string_view algo_name(ExportType type);  // "W4A16_NVFP4"

// How NVFP4 is encoded, as the options of several steps say it.
inline constexpr Choice kScaleSearches[] = {{"none", ScaleSearch::kNone},
                                            {"four-over-six", ScaleSearch::kFourOverSix},
                                            {"sweep", ScaleSearch::kSweep},
                                            {"best", ScaleSearch::kBest}};
inline constexpr Choice kRoundings[] = {{"gpu", false}, {"cpu", true}};  // EncodeOptions

extern const OptionRule kExportOptions[13];
// Fails: kUsage: options that do not go together.
Result<ExportOptions> read_export_options(const OptionValues& options);

// amax / divisor as the machine divides that is matched: by multiplication, or on a CPU.
float scale_from_amax(float amax, float divisor, bool cpu_rounding);

}  // namespace ckpt
