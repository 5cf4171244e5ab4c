// How far the values of two tensors are apart: sums from which RMSE, SQNR and cosine follow.
//
//   a ─ decode ─▶ floats ─╮
//                         ├─▶ sums of a chunk ─▶ added in order of the chunks ─▶ ValueDifference
//   b ─ decode ─▶ floats ─╯
//
//   rmse      sqrt(E / n)        E the sum of (a - b)^2 over the n pairs of finite values
//   relative  sqrt(E / A)        A the sum of a^2: `a` is what `b` is measured against
//   sqnr_db   10 log10(A / E)
//   cosine    P / sqrt(A B)      P the sum of a b, B that of b^2
//   kurtosis  n F / A^2          F the sum of a^4: about 3 for normal weights, more with outliers
//
// Sums are doubles, and their order depends only on the shapes and codecs, never on threads or
// memory, so that the same files give the same digits everywhere. A pair with a NaN or Inf is
// counted but in no sum.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/engine/value_chunks.h"

namespace ckpt {

// Figures of one of the two tensors.
struct ValueSide {
  double sum_squares = 0;
  uint64_t nonfinite = 0;       // values that are NaN or Inf
  uint64_t codes = 0;           // values whose codec says which codes are extreme
  uint64_t extreme = 0;         // of these, those with such a code (Codec::count_extreme)
  uint64_t blocks = 0;          // of a codec with blocks
  uint64_t flushed_blocks = 0;  // of these, all zeros where the other side is not

  // Share of values whose code is extreme; nullopt for plain floats.
  std::optional<double> saturated() const;
};

struct ValueDifference {
  std::array<ValueSide, 2> sides;  // a, b
  uint64_t values = 0;             // pairs that are both finite
  uint64_t nonfinite_apart = 0;    // pairs of NaN, Inf, -Inf or a finite value that are not alike
  double sum_products = 0;
  double sum_squared_errors = 0;
  double sum_fourths = 0;  // of a
  uint64_t zeroed = 0;     // pairs where b is zero and a is not
  double max_error = 0;    // largest |a - b|
  double max_value = 0;    // largest |a| or |b|

  double rmse() const;
  double relative() const;  // 0 when nothing differs; infinite where `a` is all zeros
  double sqnr_db() const;   // infinite when nothing differs
  double cosine() const;    // 1 for two tensors of zeros, 0 for one
  double kurtosis() const;  // of a, about zero; 0 for zeros
};
// Adds `other`, which comes after.
void combine(ValueDifference& into, const ValueDifference& other);

// One difference for each pair. `floats` is the codec of plain 32-bit floats.
// Requires: the shapes of a pair are equal. Fails: kUnsupported: a codec that cannot be decoded;
// kCorrupt, kIo; kInterrupted.
Result<std::vector<ValueDifference>> compare_values(std::span<const ValuePair> pairs,
                                                    const Codec& floats,
                                                    const CompareOptions& options);

}  // namespace ckpt
