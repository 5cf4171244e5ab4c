// How a server maps a folder onto its own modules, and which of them it makes quantized.
//
//   on disk                                  in the server
//   model.layers.0.mlp.gate_proj   ─┐
//   model.layers.0.mlp.up_proj     ─┴──▶  model.layers.0.mlp.gate_up_proj   one linear, one method
//   model.layers.0.mlp.experts.7.* ────▶  model.layers.0.mlp.experts        all experts, one method
//
// A server decides by its own names, after its own renaming of the exclude list; it never looks at
// which tensors are there.
// Sources: vLLM vllm/model_executor/layers/quantization/modelopt.py and utils/quant_utils.py
// (is_layer_skipped); SGLang python/sglang/srt/layers/quantization/modelopt_quant.py and
// models/qwen3_5.py.
#pragma once

#include <string_view>

#include "checks/subject/subject.h"

namespace ckpt {

// Empty where the server's modules are not known here (llama.cpp,
// TensorRT-LLM, a class that it does not have).
ServedModules served_modules(const Subject& on, const Profile& profile);

// Modules that a server always runs unquantized.
struct PlainModules {
  std::string_view called;   // "the attention"
  std::string_view symptom;  // empty: the check's
  std::string_view hint;     // empty: the check's
};
// Null when `name` is none of them.
const PlainModules* forced_plain(const Subject& on, const Profile& profile, std::string_view name);

}  // namespace ckpt
