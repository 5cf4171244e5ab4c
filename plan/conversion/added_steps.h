// The steps that OUT's format and --to require, after the steps of the user.
//
//   IN safetensors, OUT .gguf    export or dequantize where --to asks for it ▸ to-gguf ▸ quantize
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
//   given ── taken by no step of any output ──▶ exit 2; a note for what a recipe says
//         ── taken, and the plan is the same without it ──▶ a note
//
// To detect the second case, the conversion is planned again without the option and the digests are
// compared, which works for every option and every model; plans need only headers and little time.
//
// Each row of option_table.cc has the reason, and which of the two rules applies to the option.

// The options that steps of a plan took.
class OptionUse {
 public:
  void add(std::string_view name) { names_.emplace(name); }
  bool has(std::string_view name) const { return names_.contains(name); }

 private:
  std::set<std::string, std::less<>> names_;
};

// Fails: kUsage: typed options that no step used, each with the reason. For those of a recipe it
// adds notes.
Status check_options_used(const Conversion& conversion, const OptionUse& use,
                          const Context& context);

// Names of the given options for which a plan without them is needed, each once: those that change
// the output, unless `notes` already mentions them.
std::vector<std::string> options_to_compare(const Conversion& conversion,
                                            const std::vector<std::string>& notes);

// The inputs of planning one output: its conversion, and where it records the options it used.
struct OutputPlanning {
  const Conversion& conversion;
  const Context& context;
  OptionUse& use;
  std::vector<OutputVerdict>& verdicts;
  bool is_also = false;  // its path and type were given by --also
};

bool is_export_type(std::string_view type);  // nvfp4, nvfp4-w4a16, fp8
bool is_float_type(std::string_view type);   // f32, f16, bf16
bool is_gguf_path(const std::filesystem::path& path);

// `checkpoint` as OUT will contain it. Fails: as the steps; kUsage: --to and OUT do not fit.
Result<Checkpoint> apply_added_steps(Checkpoint checkpoint, const OutputPlanning& planning);

}  // namespace ckpt
