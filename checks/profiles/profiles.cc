// The profiles. vLLM 0.17 lists MIXED_PRECISION too, but of its layers it runs FP8 and NVFP4 alone.
// Sources: vLLM vllm/model_executor/layers/quantization/modelopt.py (QUANT_ALGOS); SGLang
// python/sglang/srt/layers/quantization/modelopt_quant.py; TensorRT-LLM
// tensorrt_llm/quantization/mode.py (QuantAlgo).
#include "checks/profiles/profiles.h"

namespace ckpt {
namespace {

constexpr std::string_view kAlgos16 = " FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO NVFP4 MXFP8 ";
constexpr std::string_view kAlgos17 =
    " FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO NVFP4 MXFP8 MIXED_PRECISION ";
constexpr std::string_view kAlgos32 =
    " FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO NVFP4 W4A16_NVFP4 MXFP8 MIXED_PRECISION ";
constexpr std::string_view kAlgosTensorrt =
    " FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_BLOCK_SCALES NVFP4 NVFP4_AWQ W4A16_AWQ W4A8_AWQ"
    " W4A8_NVFP4_FP8 W4A8_MXFP4_FP8 W8A16 W4A16 MIXED_PRECISION ";

constexpr Profile kProfiles[kProfileCount] = {
    {"vllm-0.16", "vLLM 0.16 with transformers 4.57", Program::kVllm, Names::kVllm16, kAlgos16},
    {"vllm-0.17", "vLLM 0.17 with transformers 4.57", Program::kVllm, Names::kVllm17, kAlgos17},
    {"vllm", "vLLM 0.32 with transformers 5", Program::kVllm, Names::kVllm32, kAlgos32},
    {"sglang", "SGLang 0.5.12 with transformers 5", Program::kSglang, Names::kSglang,
     " FP8 NVFP4 "},
    {"tensorrt-llm", "TensorRT-LLM 1.3, PyTorch backend", Program::kTensorrt, Names::kTransformers5,
     kAlgosTensorrt},
    {"llama.cpp", "llama.cpp v0.5.0, by its converter", Program::kLlamaCpp, Names::kTransformers5,
     " FP8 NVFP4 W4A16_NVFP4 MIXED_PRECISION "},
    {"transformers-4.57", "transformers 4.57: configuration and tokenizer", Program::kTransformers,
     Names::kTransformers4, ""},
    {"transformers-5", "transformers 5.17: configuration and tokenizer", Program::kTransformers,
     Names::kTransformers5, ""},
};

}  // namespace

std::span<const Profile, kProfileCount> profiles() { return kProfiles; }

const Profile* find_profile(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace ckpt
