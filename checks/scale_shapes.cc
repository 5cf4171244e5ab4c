// Checks of scales that stand as tensors of their own: those of a whole tensor are one number.
//
// Sources: vLLM vllm/model_executor/parameter.py (PerTensorScaleParameter) and
// layers/quantization/modelopt.py of 0.17.1 and 0.32.0; SGLang
// python/sglang/srt/layers/parameter.py.
// [] and [1] are both taken, whatever the writer says.
#include "checks/subject.h"

namespace ckpt {
namespace {

bool is_one_number(const Tensor& tensor) {
  return tensor.shape.empty() || (tensor.shape.size() == 1 && tensor.shape[0] == 1);
}

// The weight beside `name` where that is its word behind the last dot; nullptr otherwise.
const Tensor* weight_beside(const Examined& on, const std::string& name, std::string_view word) {
  if (!name.ends_with(word) || name.size() <= word.size()) return nullptr;
  const std::string stem = name.substr(0, name.size() - word.size());
  return stem.ends_with('.') ? on.tensor(stem + "weight") : nullptr;
}

bool is_fp8_codes(const Codec& codec) { return plain_dtype(codec) == Dtype::kF8E4M3; }
bool is_fp8(const Tensor& weight) {
  return is_fp8_codes(*weight.codec) || is_fp8(weight.codec->scheme);
}

Status look_numbers(const Look& look) {
  const Quantization* said = look.on.quantization();
  if (said == nullptr || !said->method.starts_with("modelopt")) return {};
  Mismatch found;
  for (const Tensor& tensor : look.on.checkpoint.tensors) {
    const Tensor* weight = weight_beside(look.on, tensor.name, "weight_scale");
    const bool is_of_fp8 = weight != nullptr && said->algo == "FP8" && is_fp8(*weight);
    const bool is_of_tensor = weight_beside(look.on, tensor.name, "input_scale") != nullptr ||
                              weight_beside(look.on, tensor.name, "weight_scale_2") != nullptr;
    if ((is_of_fp8 || is_of_tensor) && !is_one_number(tensor)) found.add(tensor.name);
  }
  if (found.count != 0) look.report(found.first, found.text_at_first("no single number"));
  return {};
}

Status look_second(const Look& look) {
  Mismatch found;
  for (const Tensor& tensor : look.on.checkpoint.tensors) {
    const Tensor* weight = weight_beside(look.on, tensor.name, "weight_scale_2");
    if (weight != nullptr && is_fp8(*weight)) found.add(tensor.name);
  }
  if (found.count != 0)
    look.report(found.first, found.text_at_first("beside an FP8 weight, which has none"));
  return {};
}

Status look_bare(const Look& look) {
  const Quantization* said = look.on.quantization();
  if (said == nullptr || !said->method.starts_with("modelopt")) return {};
  Mismatch found;
  for (const auto& [name, module] : look.on.modules) {
    if (module.weight == nullptr || !is_fp8_codes(*module.weight->codec)) continue;
    const auto layer = said->layers.find(name);
    if ((layer == said->layers.end() ? said->algo : layer->second) == "FP8") found.add(name);
  }
  if (found.count != 0)
    look.report(found.first, found.text_at_first("of FP8 codes without a weight_scale"));
  return {};
}

// Profiles: v16 v17 vllm sglang trt gguf tf4 tf5.
constexpr Check kScaleShapeChecks[] = {
    {"Q29", "scales of a whole tensor are one number", "UUUUW---",
     "AssertionError while the weights are loaded", "", "quantize again", look_numbers},
    {"Q30", "FP8 weights have one scale", "UUUUW---", "KeyError '...weight_scale_2'", "",
     "quantize again", look_second},
    {"Q31", "FP8 weights have their scale", "SSSSSS--", "scales are never filled: noise", "",
     "quantize again", look_bare},
};

}  // namespace

std::span<const Check> scale_shape_checks() { return kScaleShapeChecks; }

}  // namespace ckpt
