// Maps a folder onto a server's modules, and decides which of them the server quantizes.
//
//   on disk                                  in the server
//   model.layers.0.mlp.gate_proj   ─┐
//   model.layers.0.mlp.up_proj     ─┴──▶  model.layers.0.mlp.gate_up_proj   one linear, one method
//   model.layers.0.mlp.experts.7.* ────▶  model.layers.0.mlp.experts        all experts, one method
//
// A server decides by its own names, after renaming the exclude list; it never checks which tensors
// exist.
// Sources: vLLM vllm/model_executor/layers/quantization/modelopt.py and utils/quant_utils.py
// (is_layer_skipped); SGLang python/sglang/srt/layers/quantization/modelopt_quant.py and
// models/qwen3_5.py.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checks/subject/subject.h"

namespace ckpt {

// Returns nothing if the server's modules are unknown (llama.cpp, TensorRT-LLM, a class that the
// server lacks).
ServedModules served_modules(const Subject& on, const Profile& profile);

// Modules that a server always runs unquantized.
struct PlainModules {
  std::string called;   // for findings: "'*.self_attn.*'"
  std::string symptom;  // empty: that of the check
  std::string hint;
};
// Returns nullopt if the server may quantize `name`.
std::optional<PlainModules> forced_plain(const Subject& on, const Profile& profile,
                                         std::string_view name);

}  // namespace ckpt
