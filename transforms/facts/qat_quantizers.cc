#include "transforms/facts/qat_quantizers.h"

#include "core/base/counted.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// State of quantizers that store more than a maximum.
constexpr std::string_view kOtherStates[] = {"._pre_quant_scale", "._amax_post",    "._amax_pre",
                                             "._scale",           "._double_scale", "._bias_value"};

}  // namespace

bool is_quantizer(std::string_view name) {
  return name.find("_quantizer.") != std::string_view::npos ||
         name.find("_weight_quantizers.") != std::string_view::npos;
}

Status refuse_other_quantizers(const Tensor& tensor) {
  if (!ends_with_any(tensor.name, kOtherStates) &&
      tensor.name.find("svdquant_lora") == std::string::npos) {
    return {};
  }
  return unsupported_hint(
      "exporting it with ModelOpt",
      "a quantizer of AWQ, SVDQuant, LSQ or packed weights; expected one that has an _amax alone");
}

Status drop_quantizers(Checkpoint& checkpoint, const GlobList& keep, const Context& context) {
  std::vector<Tensor> others;
  NameCount dropped;
  for (Tensor& tensor : checkpoint.tensors) {
    if (!is_quantizer(tensor.name) || keep.matches_any(tensor.name)) {
      others.push_back(std::move(tensor));
      continue;
    }
    CKPT_TRY(in(fmt::format("tensor '{}'", tensor.name), refuse_other_quantizers(tensor)));
    dropped.add(tensor.name);
  }
  checkpoint.tensors = std::move(others);
  if (dropped.count() > 0) {
    context.note(
        dropped.text("quantizer tensors of a training with fake quantization are left out") +
        "; the weights are whole without them");
  }
  if (checkpoint.remove_document(kModeloptStateName)) {
    context.note("{} is left out: it is about those quantizers", kModeloptStateName);
  }
  return {};
}

}  // namespace ckpt
