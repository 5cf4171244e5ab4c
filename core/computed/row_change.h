// Applies adapters that do not add a product: each row is computed from itself and the adapter's
// small factors while the weight is read.
//
//   factors ── read, prepare ─▶ floats in memory     once, while any thread uses them
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
  // The data that the change of every row needs.
  struct Held {
    std::vector<Floats> factors;
    std::span<const double> numbers;
    LowRankProduct product = nullptr;
  };

  std::string_view method;       // determines what `prepare` and `apply` compute
  std::vector<Tensor> factors;   // Stored plain floats
  std::vector<double> numbers;   // from the configuration
  uint64_t prepared_values = 0;  // number of values that `prepare` adds
  void (*prepare)(Held&) = nullptr;
  // Changes `rows`, the first of which is row `first` of the weight. Uses at most three times the
  // memory of `rows`.
  void (*apply)(const Held&, uint64_t first, FloatRows rows) = nullptr;
};

// Applies `change` to `base` [rows, columns]. The result is Stored and has the type of the base.
// Fails: kUnsupported: base or factors are not Stored plain floats, or the factors have more values
// than the limit allows.
Result<Tensor> with_row_change(const Tensor& base, RowChange change, LowRankProduct product);

}  // namespace ckpt
