// The steps that OUT's format and --to ask for, after a person's own.
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

// Options that had no effect, all of them, in one place (docs/OPTIONS.md).
//
//   given ── taken by no step of any output ──▶ exit 2; a note for what a recipe says
//         ── taken, and the plan is the same without it ──▶ a note
//
// The second is found by planning again without the option and comparing digests, so that it holds
// for every option and every model; plans come from headers and take little time.
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

// Fails: kUsage: typed options that nothing took, each with the reason. Those of a recipe are
// noted.
Status check_options_used(const Conversion& conversion, const OptionUse& use,
                          const Context& context);

// Names of the given options that are worth a plan without them, each once: those of the table
// that change what is made, and of which `notes` does not speak.
std::vector<std::string> options_to_compare(const Conversion& conversion,
                                            const std::vector<std::string>& notes);

// The inputs of planning one output: its conversion, and where it records the options it used.
struct OutputPlanning {
  const Conversion& conversion;
  const Context& context;
  OptionUse& use;
  std::vector<OutputVerdict>& verdicts;
};

bool is_export_type(std::string_view type);  // nvfp4, nvfp4-w4a16, fp8
bool is_float_type(std::string_view type);   // f32, f16, bf16
bool is_gguf_path(const std::filesystem::path& path);

// `checkpoint` as OUT shall hold it. Fails: as the steps; kUsage: --to and OUT do not fit.
Result<Checkpoint> apply_added_steps(Checkpoint checkpoint, const OutputPlanning& planning);

}  // namespace ckpt
