#include "transforms/lora/model_weights.h"

#include "transforms/lora/adapter_key.h"

namespace ckpt {

ModelWeights::ModelWeights(Checkpoint& checkpoint, LowRankProduct product)
    : checkpoint_(checkpoint), product_(product) {
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    index_.emplace(checkpoint.tensors[i].name, i);
  }
}

Tensor* ModelWeights::find_exactly(const std::string& name) {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &checkpoint_.tensors[found->second];
}

Tensor* ModelWeights::find(const std::string& module, std::string_view ending) {
  for (const std::string& name : model_names(module)) {
    if (Tensor* found = find_exactly(name + std::string(ending))) return found;
  }
  return nullptr;
}

void ModelWeights::add(Tensor tensor) {
  index_.emplace(tensor.name, checkpoint_.tensors.size());
  checkpoint_.tensors.push_back(std::move(tensor));
}

Status ModelWeights::merge(Tensor& weight, LowRankUpdate update) {
  CKPT_ASSIGN(weight, with_low_rank(weight, std::move(update), product_));
  ++added_;
  return {};
}

Status ModelWeights::merge_rows(Tensor& weight, uint64_t first, LowRankUpdate update) {
  const uint64_t count = update.left.rows(), end = first + count;
  if (count == weight.rows()) {
    CKPT_ASSIGN(Tensor matrix, reshape(weight, {weight.rows(), weight.row_values()}));
    CKPT_TRY(merge(matrix, std::move(update)));
    weight.origin = std::move(matrix.origin);
    return {};
  }
  if (!weight.is_stored() || !weight.is_plain_float() || end > weight.rows()) {
    return fail(ErrorCode::kUnsupported,
                "tensor '{}', {} [{}]: rows {} to {} cannot be changed alone", weight.name,
                weight.codec->name, fmt::join(weight.shape, ", "), first, end);
  }
  std::vector<Tensor> pieces;
  if (first > 0) {
    CKPT_ASSIGN(Tensor before, take_rows(weight, 0, first));
    pieces.push_back(std::move(before));
  }
  CKPT_ASSIGN(Tensor changed, take_rows(weight, first, count));
  CKPT_TRY(merge(changed, std::move(update)));
  pieces.push_back(std::move(changed));
  if (end < weight.rows()) {
    CKPT_ASSIGN(Tensor after, take_rows(weight, end, weight.rows() - end));
    pieces.push_back(std::move(after));
  }
  CKPT_ASSIGN(Tensor whole, concatenate_rows(pieces));
  weight.origin = std::move(whole.origin);
  return {};
}

}  // namespace ckpt
