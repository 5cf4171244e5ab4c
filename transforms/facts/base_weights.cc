#include "transforms/facts/base_weights.h"

#include "models/models.h"

namespace ckpt {

std::string input_key(std::string_view module) {
  std::string out(module);
  constexpr std::string_view kWrapper = "language_model.";
  const size_t at = out.find(kWrapper);
  if (at != std::string::npos && (at == 0 || out[at - 1] == '.')) out.erase(at, kWrapper.size());
  return out;
}

Result<BaseWeights> BaseWeights::open(const std::string& folder, const Context& context) {
  if (!context.open) return misuse("base: no other checkpoint can be opened here");
  BaseWeights out;
  out.folder_ = folder;
  CKPT_ASSIGN(out.checkpoint_, in("base", context.open(folder)));
  const std::vector<Tensor>& tensors = out.checkpoint_.tensors;
  if (const Tensor* quantized = out.checkpoint_.first_with_scales()) {
    return misuse("base: {}: tensor '{}' is {}; expected the floats that IN was made from", folder,
                  quantized->name, quantized->codec->name);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_plain_float()) out.positions_.emplace(input_key(tensors[i].name), i);
  }
  if (!out.positions_.empty()) return out;
  return misuse("base: {}: no weights of floats", folder);
}

const Tensor* BaseWeights::find_tensor(std::string_view name) const {
  const auto found = positions_.find(input_key(name));
  return found == positions_.end() ? nullptr : &checkpoint_.tensors[found->second];
}

// Finds "….experts.3.up_proj" as rows of "….experts.gate_up_proj" [E, 2I, H] or "….down_proj" [E,
// H, I].
std::optional<Tensor> BaseWeights::find_expert(std::string_view module) const {
  const auto place = stack_part(module);
  const Tensor* stack = place ? find_tensor(place->stack()) : nullptr;
  if (stack == nullptr || stack->shape.size() != 3 || place->expert >= stack->shape[0]) {
    return std::nullopt;
  }
  const uint64_t rows = stack->shape[1] / place->parts;
  auto taken = take_rows(*stack, place->expert * stack->shape[1] + place->part * rows, rows);
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
