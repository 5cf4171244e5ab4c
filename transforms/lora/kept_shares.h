// How much of what adapters add is left where the weights are encoded as codes again, measured on
// a sample of each.
//
//   share = sum of (encoded - base) (merged - base)  /  sum of (merged - base) squared
#pragma once

#include <string>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

struct EncodedAgain {
  const Tensor& base;     // Stored floats
  const Tensor& merged;   // the sum: Stored floats, or computed of such
  const Tensor& encoded;  // the sum as codes
};

class KeptShares {
 public:
  Status add(const EncodedAgain& weight);
  // Notes it over all, and hands it to the context.
  void report(const Context& context) const;

 private:
  // Of all weights together, but for the least of each: there may be thousands of experts.
  static constexpr uint64_t kMeasuredValues = uint64_t{1} << 22;
  static constexpr uint64_t kLeastMeasured = uint64_t{1} << 12, kMostMeasured = uint64_t{1} << 16;

  std::vector<MergedWeight> all_;
};

}  // namespace ckpt
