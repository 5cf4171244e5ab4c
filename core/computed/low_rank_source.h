// Adds the product of two narrow matrices to weights while they are read: merges LoRA.
//
//   base [rows, columns] ── decode ─▶ W
//   left [rows, rank] x right [rank, columns] · scale = D       (core/model/low_rank.h)
//
//   plain            W + D, rounded once to the base's type
//   rounds_delta     D is first rounded to that type (embeddings, stacked experts)
//   magnitudes m     V = W + D;  (m[i] / |V[i]|) · V, the quotient first (DoRA)
//   column_norms     the same with the norm of each column over all rows (DoRA of embeddings)
//
// `left` is read as far as rows are requested; `right` is kept in memory while any thread uses it.
// Sums of squares are doubles in eight interleaved runs, so that they do not depend on the
// processor.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/computed/merged_source.h"
#include "core/model/checkpoint.h"
#include "core/model/low_rank.h"

namespace ckpt {

struct LowRankUpdate {
  Tensor left, right;  // Stored, plain floats
  float scale = 1, divisor = 1;
  bool rounds_delta = false;
  std::optional<Tensor> magnitudes = {};  // Stored, plain floats: one per row, or one per column
  bool column_norms = false;
};

class LowRankSource final : public MergedSource {
 public:
  // Requires: what MergedSource requires; base and update have compatible shapes.
  LowRankSource(Tensor base, LowRankUpdate update, LowRankProduct product);

  void each_input(const TakeInput& take) const override;
  std::string operation() const override;
  // Fails: kUnsupported: the update uses norms of columns, which need all rows; as with_low_rank.
  Result<Tensor> changed(const Tensor& rows, uint64_t first) const override;

 private:
  Result<std::shared_ptr<const void>> hold() const override { return right(); }
  Status change(uint64_t first, FloatRows values) const override;
  uint64_t change_bytes(uint64_t strip_values) const override;
  Result<SharedFloats> right() const;
  Result<SharedFloats> factors_of_columns() const;
  Status sum_columns(const Floats& right, std::vector<double>& squares) const;
  Status add_delta(uint64_t first, const Floats& right, FloatRows values) const;
  Status scale_rows(uint64_t first, FloatRows values) const;
  uint64_t rank() const { return update_.left.row_values(); }

  LowRankUpdate update_;
  LowRankProduct product_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const Floats> right_;
  mutable SharedFloats column_factors_;
};

// Returns `base` with `update` applied; Stored, of the same type. Fails: kCorrupt for incompatible
// shapes; kUnsupported for a base or factors that are not Stored plain floats.
Result<Tensor> with_low_rank(const Tensor& base, LowRankUpdate update, LowRankProduct product);

}  // namespace ckpt
