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
//
// Sums are doubles, and their order is a function of the shapes and codecs alone, never of threads
// or memory, so that the same files give the same digits anywhere. A pair with a NaN or Inf is
// counted but in no sum.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

class Progress;  // core/engine/execute.h

// What is known of one of the two tensors alone.
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
  uint64_t one_sided = 0;          // pairs of a finite value and one that is not
  double sum_products = 0;
  double sum_squared_errors = 0;
  double max_error = 0;  // largest |a - b|

  double rmse() const;
  double relative() const;  // 0 when nothing differs; infinite where `a` is all zeros
  double sqnr_db() const;   // infinite when nothing differs
  double cosine() const;    // 1 for two tensors of zeros, 0 for one
};
// Adds `other`, which comes after.
void combine(ValueDifference& into, const ValueDifference& other);

// Stored, or Recoded as dequantize leaves it: what counts are its values after its operations.
struct ValuePair {
  const Tensor* a;
  const Tensor* b;
};

struct CompareOptions {
  unsigned threads = 0;                         // 0 = all cores
  uint64_t memory_bytes = uint64_t{512} << 20;  // fewer threads where it is little
  const std::atomic<bool>* interrupted = nullptr;
  Progress* progress = nullptr;  // told of bytes of both sides, by one thread at a time
};

// One difference for each pair. `floats` is the codec of plain 32-bit floats.
// Requires: the shapes of a pair are equal. Fails: kUnsupported: a codec that cannot be decoded;
// kCorrupt, kIo; kInterrupted.
Result<std::vector<ValueDifference>> compare_values(std::span<const ValuePair> pairs,
                                                    const Codec& floats,
                                                    const CompareOptions& options);

}  // namespace ckpt
