#include "transforms/lora/methods.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {

extern constinit const AdapterMethod kIa3, kLoHa, kLoKr, kOft, kBoft, kHra, kMiss, kVera, kAdaLora;

namespace {

constexpr const AdapterMethod* kAdapterMethods[] = {&kIa3, &kLoHa, &kLoKr, &kOft,    &kBoft,
                                                    &kHra, &kMiss, &kVera, &kAdaLora};
// Methods of PEFT 0.21 without merged weights: prompts, and changes that depend on the input.
constexpr std::string_view kNeverMerged =
    " ADAPTION_PROMPT CARTRIDGE CPT LILY MULTITASK_PROMPT_TUNING POLY PREFIX_TUNING PROMPT_TUNING"
    " P_TUNING SHADOW XLORA ";

std::string merged_types() {
  std::string out = "LORA";
  for (const AdapterMethod* method : kAdapterMethods) out += fmt::format(", {}", method->type);
  return out;
}

MethodModule module_of_weight(const AdapterModule& module, const MethodMerge& how,
                              const Tensor& weight) {
  const uint64_t rows = weight.shape.size() < 2 ? 1 : weight.shape[0];
  return {how.adapter,
          module,
          rows,
          weight.values() / std::max<uint64_t>(1, rows),
          false,
          weight.shape.size() > 2 ? weight.shape[1] : 0,
          how.adapter.config.scale_of(module.name, how.factor),
          *weight.codec,
          how.context.codecs};
}

// Transposes the product for a Conv1D, whose weight is [inputs, outputs].
Status add_product(const MethodModule& given, Tensor& weight, ModelWeights& weights) {
  CKPT_ASSIGN(LowRankUpdate update, given.config().method->product(given));
  if (given.is_conv1d) {
    CKPT_ASSIGN(Tensor left, transposed_factor(update.right));
    CKPT_SET(update.right, transposed_factor(update.left));
    update.left = std::move(left);
  }
  return weights.merge(weight, std::move(update));
}

Status change_rows(const MethodModule& given, Tensor& weight, ModelWeights& weights) {
  const AdapterMethod& method = *given.config().method;
  CKPT_ASSIGN(RowChange change, method.rows(given));
  change.method = method.name;
  return weights.change(weight, std::move(change));
}

}  // namespace

Result<const AdapterMethod*> find_method(const std::string& type) {
  for (const AdapterMethod* method : kAdapterMethods) {
    if (method->type == type) return method;
  }
  if (has_word(kNeverMerged, type)) {
    return unsupported_hint("running the model with the adapter in PEFT",
                            "peft_type is '{}'; such adapters are used with each input and have no "
                            "merged weights",
                            type);
  }
  return unsupported_hint(kMergeElsewhere, "peft_type is '{}'; ckpt merges {}", type,
                          merged_types());
}

Result<Tensor> MethodModule::need(std::string_view factor,
                                  const std::vector<uint64_t>& shape) const {
  const Tensor* const* found = find_mapped(module.factors, factor);
  if (found == nullptr) {
    return corrupt("tensor '{}': '{}' has no {}", module.first_tensor(), module.name, factor);
  }
  const Tensor& tensor = **found;
  bool fits = tensor.shape.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == 0 || shape[i] == tensor.shape[i];
  }
  if (fits) return tensor;
  std::vector<std::string> expected;
  for (const uint64_t size : shape) expected.push_back(size == 0 ? "any" : std::to_string(size));
  return corrupt("tensor '{}': shape [{}]; expected [{}] for a weight [{}, {}]", tensor.name,
                 fmt::join(tensor.shape, ", "), fmt::join(expected, ", "), rows, columns);
}

Status merge_method(const AdapterModule& module, const MethodMerge& how, ModelWeights& weights) {
  const AdapterMethod& method = *how.adapter.config.method;
  Tensor* const weight = weights.find(module.name, kWeight);
  if (weight == nullptr) {
    return corrupt("tensor '{}': the model has no '{}{}'", module.first_tensor(), module.name,
                   kWeight);
  }
  MethodModule given = module_of_weight(module, how, *weight);
  given.is_conv1d = weights.is_conv1d(module.name);
  if (given.is_conv1d && !method.has_conv1d) {
    return unsupported_hint("an adapter of LoRA, IA3, VeRA or AdaLoRA",
                            "tensor '{}': '{}' is a Conv1D, which {} of PEFT does not support",
                            module.first_tensor(), module.name, method.name);
  }
  if (method.product != nullptr) {
    if (given.is_conv1d) std::swap(given.rows, given.columns);
    return add_product(given, *weight, weights);
  }
  CKPT_TRY(change_rows(given, *weight, weights));
  Tensor* const bias = method.bias == nullptr ? nullptr : weights.find(module.name, ".bias");
  if (bias == nullptr) return {};
  CKPT_ASSIGN(RowChange change, method.bias(module_of_weight(module, how, *bias)));
  change.method = method.name;
  return change.apply == nullptr ? Status() : weights.change(*bias, std::move(change));
}

}  // namespace ckpt
