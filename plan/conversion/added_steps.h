// The steps that OUT's format and --to require, which run after the steps of the user.
//
//   IN safetensors, OUT .gguf    export or dequantize if --to requires it ▸ to-gguf ▸ quantize
//   IN safetensors, OUT folder   cast, dequantize or export
//   the same, --mmproj-only      to-mmproj
//   IN GGUF, OUT .gguf           quantize
//   IN GGUF, OUT folder          from-gguf
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/transform.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

// Detects options without effect (docs/OPTIONS.md).
//
//   given ── not used by any step of any output ──▶ exit 2; a note if it is from a recipe
//          ── used, but the plan is the same without it ──▶ a note
//
// To detect the second case, the conversion is planned again without the option and the digests are
// compared, which works for every option and every model; plans need only headers and little time.
//
// Each row of option_table.cc states the reason, and which of the two rules applies to the option.

// Records the options that steps of a plan used.
class OptionUse {
 public:
  void add(std::string_view name) { names_.emplace(name); }
  bool has(std::string_view name) const { return names_.contains(name); }

 private:
  std::set<std::string, std::less<>> names_;
};

// Fails: kUsage: typed options that no step used, each with the reason. Unused options of a recipe
// only get a note.
Status check_options_used(const Conversion& conversion, const OptionUse& use,
                          const Context& context);

// Names, without duplicates, the given options that require another plan for comparison: those that
// change the output, unless `notes` already mentions them.
std::vector<std::string> options_to_compare(const Conversion& conversion,
                                            const std::vector<std::string>& notes);

// The inputs of planning one output: its conversion, and where to record the options that it uses.
struct OutputPlanning {
  const Conversion& conversion;
  const Context& context;
  OptionUse& use;
  std::vector<OutputVerdict>& verdicts;
  bool is_also = false;  // --also set the output's path and type
};

bool is_export_type(std::string_view type);  // nvfp4, nvfp4-w4a16, fp8
bool is_float_type(std::string_view type);   // f32, f16, bf16
bool is_gguf_path(const std::filesystem::path& path);

// Returns `checkpoint` as OUT will contain it. Fails: as the steps; kUsage: --to does not fit OUT.
Result<Checkpoint> apply_added_steps(Checkpoint checkpoint, const OutputPlanning& planning);

}  // namespace ckpt
