#include "transforms/hf/base_weights.h"

#include <algorithm>
#include <charconv>

#include "transforms/modelopt_export/calibration.h"

namespace ckpt {
namespace {

bool is_float_tensor(const Tensor& tensor) {
  const std::string_view name = tensor.codec->name;
  return name == "bf16" || name == "f16" || name == "f32";
}

}  // namespace

Result<BaseWeights> BaseWeights::open(const std::string& folder, const Context& context) {
  if (!context.open) return fail(ErrorCode::kUsage, "base: no other checkpoint can be opened here");
  BaseWeights out;
  out.folder_ = folder;
  CKPT_ASSIGN(out.checkpoint_, in("base", context.open(folder)));
  const std::vector<Tensor>& tensors = out.checkpoint_.tensors;
  const auto quantized = std::find_if(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.codec->parts.size() > 1;
  });
  if (quantized != tensors.end()) {
    return fail(ErrorCode::kUsage,
                "base: {}: tensor '{}' is {}; expected the floats that IN was made from", folder,
                quantized->name, quantized->codec->name);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_float_tensor(tensors[i])) out.positions_.emplace(input_key(tensors[i].name), i);
  }
  if (!out.positions_.empty()) return out;
  return fail(ErrorCode::kUsage, "base: {}: no weights of floats", folder);
}

const Tensor* BaseWeights::find_tensor(std::string_view name) const {
  const auto found = positions_.find(input_key(name));
  return found == positions_.end() ? nullptr : &checkpoint_.tensors[found->second];
}

// "….experts.3.up_proj": rows of "….experts.gate_up_proj" [E, 2I, H] or "….down_proj" [E, H, I].
std::optional<Tensor> BaseWeights::find_expert(std::string_view module) const {
  constexpr std::string_view kExperts = ".experts.";
  const size_t at = module.rfind(kExperts);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = module.substr(at + kExperts.size());
  uint64_t expert = 0;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), expert);
  if (parsed.ec != std::errc() || parsed.ptr == rest.data() + rest.size()) return std::nullopt;
  const std::string_view word = rest.substr(static_cast<size_t>(parsed.ptr - rest.data()) + 1);
  const bool is_down = word == "down_proj";
  if (!is_down && word != "gate_proj" && word != "up_proj") return std::nullopt;
  const std::string name = fmt::format("{}{}", module.substr(0, at + kExperts.size()),
                                       is_down ? "down_proj" : "gate_up_proj");
  const Tensor* stack = find_tensor(name);
  if (stack == nullptr || stack->shape.size() != 3 || expert >= stack->shape[0]) {
    return std::nullopt;
  }
  const uint64_t rows = is_down ? stack->shape[1] : stack->shape[1] / 2;
  const uint64_t first = expert * stack->shape[1] + (word == "up_proj" ? rows : 0);
  auto taken = take_rows(*stack, first, rows);
  return taken ? std::optional(std::move(*taken)) : std::nullopt;
}

std::optional<Tensor> BaseWeights::find(std::string_view module,
                                        const std::vector<uint64_t>& shape) const {
  std::optional<Tensor> out;
  if (const Tensor* found = find_tensor(fmt::format("{}.weight", module))) {
    out = *found;
  } else {
    out = find_expert(module);
  }
  return out && out->shape == shape ? out : std::nullopt;
}

}  // namespace ckpt
