#include "transforms/to_gguf/one_form.h"

#include <algorithm>

#include "core/model/tensor_names.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_gguf/tensors.h"
#include "transforms/vl/names.h"

namespace ckpt {
namespace {

struct Form {
  bool is_gguf = false, is_wrapped = false, has_stacks = false, has_experts = false;
};

Form form_of(const Checkpoint& checkpoint) {
  Form out;
  out.is_gguf = checkpoint.format == "gguf";
  for (const Tensor& tensor : checkpoint.tensors) {
    out.is_wrapped = out.is_wrapped || vl_part_of(tensor.name) == VlPart::kWrapped;
    if (!is_of_experts(tensor.name)) continue;
    (expert_name(tensor.name) ? out.has_experts : out.has_stacks) = true;
  }
  return out;
}

Status to_gguf_form(Checkpoint& checkpoint, const Context& context) {
  const auto left_out = std::ranges::count_if(checkpoint.tensors, [](const Tensor& tensor) {
    return vl_part_of(tensor.name) == VlPart::kVision;
  });
  CKPT_ASSIGN(Model model, read_model(checkpoint));
  CKPT_ASSIGN(std::vector<NamedTensor> selected,
              select_tensors(checkpoint, true, model, context.codecs));
  model.out_type = OutType::kF32;
  CKPT_ASSIGN(checkpoint.tensors, make_gguf_tensors(std::move(selected), model, context.codecs));
  checkpoint.format = "gguf";
  if (left_out > 0) {
    context.note("{}: the {} tensors of its vision tower are not compared", checkpoint.name,
                 left_out);
  }
  return {};
}

}  // namespace

bool are_in_one_form(const Checkpoint& a, const Checkpoint& b) {
  const Form left = form_of(a), right = form_of(b);
  if (left.is_gguf || right.is_gguf) return left.is_gguf == right.is_gguf;
  return left.is_wrapped == right.is_wrapped && !(left.has_stacks && right.has_experts) &&
         !(left.has_experts && right.has_stacks);
}

Status to_one_form(Checkpoint& a, Checkpoint& b, const Context& context) {
  for (Checkpoint* each : {&a, &b}) {
    if (each->format == "gguf") continue;
    CKPT_TRY(in(each == &a ? "A" : "B", to_gguf_form(*each, context)));
  }
  return {};
}

}  // namespace ckpt
