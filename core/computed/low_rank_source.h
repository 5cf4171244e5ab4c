// Weights with a product of two narrow matrices added, computed while they are read: LoRA, merged.
//
//   base [rows, columns] ── decode ─▶ W
//   left [rows, rank] x right [rank, columns] · scale = D       (core/model/low_rank.h)
//
//   plain            W + D, rounded once to the base's type
//   rounds_delta     D is rounded to that type first (embeddings, stacked experts)
//   magnitudes m     V = W + D;  (m[i] / |V[i]|) · V, the quotient first (DoRA)
//   column_norms     the same with the norm of each column, over all rows (DoRA of embeddings)
//
// `left` is read as far as rows are requested; `right` is kept in memory while any thread works
// with it. Sums of squares are doubles in eight interleaved runs, so that they do not depend on the
// processor.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/io/bytes.h"
#include "core/model/checkpoint.h"
#include "core/model/low_rank.h"

namespace ckpt {

struct LowRankUpdate {
  Tensor left, right;  // Stored, plain floats
  float scale = 1;
  bool rounds_delta = false;
  std::optional<Tensor> magnitudes = {};  // Stored, plain floats: one a row, or one a column
  bool column_norms = false;
};

class LowRankSource final : public ComputedSource {
 public:
  // Requires: `base` is Stored plain floats; the shapes fit.
  LowRankSource(Tensor base, LowRankUpdate update, LowRankProduct product);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override { return base_bytes_.size_bytes(); }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;
  const std::string& name() const override { return base_.name; }
  static constexpr Kind kKind = Kind::kLowRank;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override;
  std::string operation() const override;

  const Tensor& base() const { return base_; }
  // `rows`, rows of the base from `first` on in any type of floats, with their part of the product
  // added, which is rounded only to that type. Fails: kUnsupported: norms of columns; as
  // with_low_rank.
  Result<Tensor> added_to(const Tensor& rows, uint64_t first) const;

 private:
  using Floats = std::vector<float>;
  using SharedFloats = std::shared_ptr<const Floats>;

  Result<SharedFloats> right() const;
  Result<SharedFloats> factors_of_columns() const;
  Status sum_columns(const Floats& right, std::vector<double>& squares) const;
  Status add_delta(uint64_t first, const Floats& right, FloatRows values) const;
  Status scale_rows(uint64_t first, FloatRows values) const;
  // Rows [first, ...) of the base, as many as `raw` holds, into `out` of the same size.
  Status merge(uint64_t first, std::span<const std::byte> raw, std::span<std::byte> out) const;
  Status read_base(uint64_t first, uint64_t rows, GatherBuffers& buffers,
                   std::span<const std::byte>& raw) const;
  uint64_t band_rows() const;
  uint64_t row_bytes() const { return size_bytes() / base_.rows(); }
  uint64_t rank() const { return update_.left.row_values(); }

  Tensor base_;
  LowRankUpdate update_;
  LowRankProduct product_;
  SliceIndex base_bytes_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const Floats> right_;
  mutable SharedFloats column_factors_;
};

// Whether the bytes of `source` are computed from such a sum.
bool reads_lora_merge(const ByteSource& source);
// Whether `tensor` is of such sums that are still to be encoded in ggml's blocks: a weight of a
// GGUF that an adapter was added to.
bool is_lora_merge(const Tensor& tensor);

// `base` with `update` applied; Stored, of the same type. Fails: kCorrupt for shapes that do not
// fit each other; kUnsupported for a base or factors that are not Stored plain floats.
Result<Tensor> with_low_rank(const Tensor& base, LowRankUpdate update, LowRankProduct product);

}  // namespace ckpt
