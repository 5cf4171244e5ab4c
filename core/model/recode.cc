// Describes values that are still to be computed: their target codec and operations.
#include <utility>

#include "core/model/checkpoint.h"

namespace ckpt {
namespace {

Status check_not_repacked(const Tensor& tensor) {
  if (tensor.is_stored() || tensor.recoded().repack == nullptr) return {};
  return unsupported(
      "its bits are moved from {} to {} by an earlier step, which leaves no values to change",
      tensor.recoded().from->codec->name, tensor.codec->name);
}

// Removes measurements of values that have changed since.
void forget_measures(Tensor& tensor) {
  Recoded& made = std::get<Recoded>(tensor.origin);
  made.exact_blocks = 0;
  made.second_error.reset();
}

// Fails for codes that are still to be made, because only their sources have values yet. Another
// dialect of the same codes passes.
Status check_not_encoded(const Tensor& tensor, const Codec& codec) {
  if (tensor.is_stored() || plain_dtype(*tensor.codec)) return {};
  if (tensor.recoded().from->codec == tensor.codec) return {};
  if (codec.scheme == tensor.codec->scheme && codec.scheme != Scheme::kPlain) return {};
  return unsupported_hint("a conversion for the steps up to that one, and another for the rest",
                          "was made {} by a step before", tensor.codec->name);
}

}  // namespace

Recoded& recode_itself(Tensor& tensor) {
  auto from = std::make_shared<const Tensor>(tensor);
  return tensor.origin.emplace<Recoded>(Recoded{std::move(from), {}, {}, nullptr});
}

Result<Tensor> recode(Tensor tensor, const Codec& codec) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  if (!tensor.is_stored() && tensor.codec == &codec) return tensor;
  CKPT_TRY(in(place, check_not_repacked(tensor)));
  CKPT_TRY(in(place, check_not_encoded(tensor, codec)));
  if (tensor.is_stored()) {
    if (tensor.codec == &codec) return tensor;
    if (tensor.codec->decode == nullptr) {
      return unsupported("{}: stored as {}, which can be copied but not decoded", place,
                         tensor.codec->name);
    }
    recode_itself(tensor);
  }
  if (codec.encode == nullptr) {
    return unsupported("{}: {} can be copied but not encoded", place, codec.name);
  }
  CKPT_TRY(in(place, check_shape(tensor.shape, codec)));
  tensor.codec = &codec;
  forget_measures(tensor);
  return tensor;
}

Result<Tensor> with_op(Tensor tensor, ValueOp op) {
  CKPT_TRY(in(fmt::format("tensor '{}'", tensor.name), check_not_repacked(tensor)));
  if (tensor.is_stored()) {
    if (tensor.codec->decode == nullptr || tensor.codec->encode == nullptr) {
      return unsupported("tensor '{}': values stored as {} cannot be changed", tensor.name,
                         tensor.codec->name);
    }
    recode_itself(tensor);
  }
  std::get<Recoded>(tensor.origin).ops.push_back(std::move(op));
  forget_measures(tensor);
  return tensor;
}

void share_statistics(const std::vector<Tensor*>& tensors) {
  std::vector<std::shared_ptr<const Tensor>> all;
  for (const Tensor* tensor : tensors) all.push_back(std::make_shared<const Tensor>(*tensor));
  for (size_t at = 0; at < tensors.size(); ++at) {
    auto& peers = std::get<Recoded>(tensors[at]->origin).peers;
    for (size_t other = 0; other < all.size(); ++other) {
      if (other != at) peers.push_back(all[other]);
    }
  }
}

}  // namespace ckpt
