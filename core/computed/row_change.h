// Weights whose rows become functions of themselves and of small factors while they are read:
// adapters that are more than a product.
//
//   factors ── read, prepare ─▶ floats in memory     once, while any thread works with them
//   row i of the weight ── apply ─▶ the new row
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/computed/merged_source.h"
#include "core/model/low_rank.h"

namespace ckpt {

struct RowChange {
  using Floats = std::vector<float>;
  // The values that all rows use.
  struct Held {
    std::vector<Floats> factors;
    std::span<const double> numbers;
    LowRankProduct product = nullptr;
  };

  std::string_view method;       // its name, which says what `prepare` and `apply` compute
  std::vector<Tensor> factors;   // Stored plain floats
  std::vector<double> numbers;   // of the configuration
  uint64_t prepared_values = 0;  // that `prepare` makes in addition
  void (*prepare)(Held&) = nullptr;
  // Changes rows from `first` on. Takes memory for three times their values at most.
  void (*apply)(const Held&, uint64_t first, FloatRows rows) = nullptr;
};

// `base` [rows, columns] so changed; Stored, of the same type. Fails: kUnsupported for a base or
// factors that are not Stored plain floats, and for more values of factors than fit the limit.
Result<Tensor> with_row_change(const Tensor& base, RowChange change, LowRankProduct product);

}  // namespace ckpt
