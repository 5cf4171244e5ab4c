// The weights of a model that adapters are merged into: found by the names that adapters use, and
// changed in place.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/computed/low_rank_source.h"
#include "core/model/transform.h"

namespace ckpt {

class ModelWeights {
 public:
  ModelWeights(Checkpoint& checkpoint, LowRankProduct product);

  // The tensor of a module, whose name is one of model_names(); nullptr: none.
  Tensor* find(const std::string& module, std::string_view ending);
  Tensor* find_exactly(const std::string& name);
  void add(Tensor tensor);

  // Adds a product. Fails: as with_low_rank.
  Status merge(Tensor& weight, LowRankUpdate update);
  // Adds it to rows [first, first + those of update.left) alone.
  Status merge_rows(Tensor& weight, uint64_t first, LowRankUpdate update);
  uint64_t added() const { return added_; }

 private:
  Checkpoint& checkpoint_;
  LowRankProduct product_;
  std::map<std::string, size_t, std::less<>> index_;
  uint64_t added_ = 0;
};

}  // namespace ckpt
