// The weights of a model that adapters are merged into: found by the names that adapters use, and
// changed in place.
//
//   stored floats        the sum, rounded to their type
//   decoded by a step    the sum in float, rounded as that step rounds; how much of it the base's
//                        own codec would keep is measured on a sample of each
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/computed/low_rank_source.h"
#include "core/model/transform.h"

namespace ckpt {

class ModelWeights {
 public:
  ModelWeights(Checkpoint& checkpoint, const Context& context);

  // The tensor of a module, whose name is one of model_names(); nullptr: none.
  Tensor* find(const std::string& module, std::string_view ending);
  Tensor* find_exactly(const std::string& name);
  void add(Tensor tensor);

  // Adds a product. Fails: as with_low_rank.
  Status merge(Tensor& weight, LowRankUpdate update);
  // Adds it to rows [first, first + those of update.left) alone.
  Status merge_rows(Tensor& weight, uint64_t first, LowRankUpdate update);
  uint64_t added() const { return added_; }
  // Of those that were decoded, a sample of each. Empty: none were.
  const std::vector<MergedWeight>& merged() const { return merged_; }

 private:
  // Of all weights together, but for the least of each: there may be thousands of experts.
  static constexpr uint64_t kMeasuredValues = uint64_t{1} << 22;
  static constexpr uint64_t kLeastMeasured = uint64_t{1} << 12, kMostMeasured = uint64_t{1} << 16;
  Status merge_decoded(Tensor& weight, LowRankUpdate update);
  Status measure(const Tensor& base, const Tensor& merged, const Codec& codec);

  Checkpoint& checkpoint_;
  const Context& context_;
  std::vector<MergedWeight> merged_;
  std::map<std::string, size_t, std::less<>> index_;
  uint64_t added_ = 0;
};

}  // namespace ckpt
