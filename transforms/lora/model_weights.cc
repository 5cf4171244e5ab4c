#include "transforms/lora/model_weights.h"

#include <algorithm>

#include "core/chunks/evaluate.h"
#include "core/computed/decoded_source.h"
#include "transforms/lora/adapter_key.h"

namespace ckpt {

ModelWeights::ModelWeights(Checkpoint& checkpoint, const Context& context)
    : checkpoint_(checkpoint), context_(context) {
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
  ++added_;
  if (!weight.is_stored()) return merge_decoded(weight, std::move(update));
  if (!weight.is_plain_float()) {
    return fail_with_hint(
        ErrorCode::kUnsupported, "--step dequantize before it, and --to for the type of the output",
        "tensor '{}' is {}; adapters are added to floats", weight.name, weight.codec->name);
  }
  CKPT_ASSIGN(weight, with_low_rank(weight, std::move(update), context_.low_rank));
  return {};
}

Status ModelWeights::merge_decoded(Tensor& weight, LowRankUpdate update) {
  const Codec& f32 = plain_codec(context_.codecs, Dtype::kF32);
  const Codec& codec = *weight.recoded().from->codec;
  CKPT_ASSIGN(StoredValues values, stored_values(weight, f32));
  const Tensor base = values.values;
  CKPT_ASSIGN(Tensor merged, with_low_rank(base, std::move(update), context_.low_rank));
  if (!is_plain_float(codec) && codec.encode != nullptr) {
    CKPT_TRY(measure(base, merged, codec));
  }
  CKPT_ASSIGN(weight, values.back(std::move(merged)));
  return {};
}

// By the projection of what is left on what was added, over some rows.
Status ModelWeights::measure(const Tensor& base, const Tensor& merged, const Codec& codec) {
  const uint64_t limit_values =
      std::clamp(kMeasuredValues / (merged_.size() + 1), kLeastMeasured, kMostMeasured);
  CKPT_ASSIGN(const Tensor encoded, recode(merged, codec));
  CKPT_ASSIGN(const RowSample after, sample_rows(encoded, limit_values));
  const uint64_t columns = base.row_values();
  double product = 0, squares = 0, error = 0;
  for (size_t i = 0; i < after.rows.size(); ++i) {
    CKPT_ASSIGN(const Tensor base_row, take_rows(base, after.rows[i], 1));
    CKPT_ASSIGN(const Tensor merged_row, take_rows(merged, after.rows[i], 1));
    CKPT_ASSIGN(const std::vector<float> before, read_values(base_row, columns));
    CKPT_ASSIGN(const std::vector<float> meant, read_values(merged_row, columns));
    for (size_t k = 0; k < columns; ++k) {
      const double kept = after.values[i * columns + k];
      const double delta = double{meant[k]} - before[k];
      product += (kept - before[k]) * delta;
      squares += delta * delta;
      error += (kept - meant[k]) * (kept - meant[k]);
    }
  }
  if (squares == 0) return {};
  merged_.push_back({base.name, std::string(codec.name), product / squares, squares < error});
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
