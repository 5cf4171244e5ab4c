// Error feedback: later columns compensate for the rounding error of a column, as far as the inputs
// of these columns are correlated.
//
//   H = mean of x x^T for a run of n columns, where x are their inputs
//   H + 5 % of its mean diagonal = G c G^T      G upper triangular with ones, c > 0
//   F = G^-1                                    factors right of the diagonal, c on it
//   error e_i = v_i - q_i;  v_k -= e_i F_ik for k > i;  sum of squared outputs = sum of c_i e_i^2
//
// The factorisation runs from the last column to the first in doubles, in a fixed order of
// operations, so that it is the same on every machine.
// Source of the idea: GPTQ, Frantar et al., arXiv 2210.17323.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/model/checkpoint.h"

namespace ckpt {

// Fails: kCorrupt for invalid second moments (NaN, a direction with a negative square), naming the
// tensor; as read_values. Requires: shape [runs, n, n], F32 or narrower, Stored.
Result<ErrorFeedback> make_error_feedback(const Tensor& moments);

// Shares factors between tasks and frees them when no task uses them any more.
class FeedbackCache {
 public:
  using Shared = std::shared_ptr<const ErrorFeedback>;
  // Returns null for null.
  Result<Shared> get(const Tensor* moments);

 private:
  struct Entry {
    std::mutex mutex;
    std::weak_ptr<const ErrorFeedback> factors;
  };
  std::mutex mutex_;
  std::map<const Tensor*, Entry> entries_;
};

}  // namespace ckpt
