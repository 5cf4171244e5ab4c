// The steps that OUT's format and --to ask for, after a person's own.
//
//   IN safetensors, OUT .gguf    export or dequantize where --to asks for it ▸ to-gguf ▸ quantize
//   IN safetensors, OUT folder   cast, dequantize or export
//   the same, --mmproj-only      to-mmproj
//   IN GGUF, OUT .gguf           quantize
//   IN GGUF, OUT folder          from-gguf
#pragma once

#include "plan/conversion/conversion.h"
#include "plan/conversion/option_use.h"

namespace ckpt {

// What planning one output needs: its conversion, and where it is told which options were taken.
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
