#include "transforms/lora/written_weights.h"

#include "core/chunks/written_source.h"

namespace ckpt {
namespace {

// nullptr: the first part is not in one place.
const ByteSource* first_source(const Tensor& tensor) {
  const std::vector<std::vector<Slice>>& parts = tensor.stored().parts;
  return parts.empty() || parts[0].size() != 1 ? nullptr : parts[0][0].source.get();
}

}  // namespace

WrittenWeights::WrittenWeights(Checkpoint& checkpoint) {
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.is_stored()) continue;
    Tensor written = stored_as_written(tensor);
    computed_.emplace(first_source(written), tensor);
    tensor = std::move(written);
  }
}

void WrittenWeights::give_back(Checkpoint& checkpoint) const {
  for (Tensor& tensor : checkpoint.tensors) {
    if (!tensor.is_stored()) continue;
    const auto found = computed_.find(first_source(tensor));
    if (found == computed_.end() || found->second.shape != tensor.shape) continue;
    tensor.origin = found->second.origin;
  }
}

}  // namespace ckpt
