// Searches for 4- to 6-bit blocks with a lower error than ggml's. The format is the same; only the
// choice of scales, minimums and codes is better.
//
//   error of a block = sum of w (value - stored value)^2       w = column weight, or 1
//
//   ggml's block -> sweeps -> new d (and dmin) -> ... -> best block so far
//                                                          |  other d and dmin near it, rated by
//   sweeps <- the two most promising <---------------------+  how far scales are from their best
//
// A sweep tries, for each sub-block, all neighbors of its integer scale and minimum with the codes
// that are nearest under them as read back; d and dmin are then solved for by least squares. A
// block is replaced only by one with a lower error.
//
// Note: ggml's own searches minimize another error (weighted by magnitude, or by magnitude and
// column), so ggml's block may be better by that measure. Blocks whose error is not finite stay
// ggml's. The functions ending in _scalar are the specification of the kernels, which give the same
// numbers on any machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "quantizers/ggml/k/k_layout.h"

namespace ckpt {

// `blocks` hold the result of ggml's encoder for the same rows. Empty weights mean 1.
template <class Block>  // with sub-blocks of 32 values
void search_affine(ConstFloatRows rows, std::span<const float> weights, Block* blocks);
void search_q6_k(ConstFloatRows rows, std::span<const float> weights, BlockQ6K* blocks);

// ---- kernels ----------------------------------------------------------------------------------
inline constexpr size_t kSearchSubs = 16;  // adjacent sub-blocks

// values[e * kSearchSubs + j] is value e of sub-block j.
struct SearchGroup {
  uint32_t count;   // values per sub-block: 16 or 32
  float low, high;  // limits of codes
  alignas(64) float values[32 * kSearchSubs];
  alignas(64) float weights[32 * kSearchSubs];
};

// A scale and a minimum per sub-block. Stored value = scale code - minimum.
struct SearchFit {
  alignas(64) float scales[kSearchSubs];
  alignas(64) float minimums[kSearchSubs];
};

// Sums over the values of a sub-block, from first to last.
struct SearchErrors {
  alignas(64) float errors[kSearchSubs];  // w (stored value - value)^2
};
struct SearchSums {
  alignas(64) float codes[kSearchSubs];    // w code
  alignas(64) float squares[kSearchSubs];  // w code^2
  alignas(64) float values[kSearchSubs];   // w code value
};

inline float search_inverse(float scale) { return scale == 0 ? 0 : 1 / scale; }

// The nearest code, ties to even; the lowest for NaN, which results from 0 x inf with a denormal
// scale. Requires: integer limits below 2^22.
inline float search_code(const SearchGroup& group, float value, float minimum, float inverse) {
  const float exact = (value + minimum) * inverse;
  const float limited = std::min(exact > group.low ? exact : group.low, group.high);
  return (limited + 12582912.0f) - 12582912.0f;
}

// Stores one element of `errors` for each of `fits`.
void find_search_errors_scalar(const SearchGroup& group, std::span<const SearchFit> fits,
                               SearchErrors* errors);
void find_search_errors(const SearchGroup& group, std::span<const SearchFit> fits,
                        SearchErrors* errors);
void find_search_sums_scalar(const SearchGroup& group, const SearchFit& fit, SearchSums& sums);
void find_search_sums(const SearchGroup& group, const SearchFit& fit, SearchSums& sums);

}  // namespace ckpt
