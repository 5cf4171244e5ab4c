#include "transforms/llama_quantize/column_weights.h"

#include <algorithm>
#include <cmath>

#include "transforms/llama_quantize/mixture.h"

namespace ckpt {

Result<std::shared_ptr<const ColumnWeights>> find_column_weights(const Imatrix& imatrix,
                                                                 const Tensor& tensor) {
  const auto entry = imatrix.weights.find(tensor.name);
  if (entry == imatrix.weights.end()) return nullptr;
  uint64_t matrices = 1;
  for (size_t i = 0; i + 2 < tensor.shape.size(); ++i) matrices *= tensor.shape[i];
  const uint64_t found = entry->second.size();
  const uint64_t expected = matrices * tensor.row_values();
  if (found == expected) return std::make_shared<const ColumnWeights>(ColumnWeights{entry->second});
  // An embedding table has no activations, because rows are looked up: its entry is an accident.
  if (category_of(tensor.name) == Category::kTokenEmbedding) return nullptr;
  return corrupt("importance matrix '{}' has {} values; expected {} ({} matrices of {} columns)",
                 imatrix.file, found, expected, matrices, tensor.row_values());
}

Status check_finite(const Imatrix& imatrix) {
  for (const auto& [name, weights] : imatrix.weights) {
    const auto bad =
        std::ranges::find_if(weights, [](float weight) { return !std::isfinite(weight); });
    if (bad == weights.end()) continue;
    return corrupt("importance matrix '{}': value {} for '{}' is {}; expected a finite number",
                   imatrix.file, bad - weights.begin(), name, *bad);
  }
  return {};
}

}  // namespace ckpt
