// Blocks of E2M1 codes as quantized checkpoints store them: adjacent values share a byte.
//
//   values of a block      v0 v1 v2 v3 ... v14 v15
//   its bytes              v1v0  v3v2  ... v15v14        upper four bits, lower four bits
//
//   code    0  1   2  3   4  5  6  7      8 to 15: the same, negative
//   E2M1    0  .5  1  1.5 2  3  4  6
//
// A function NAME_scalar is the specification of NAME, which gives the same bytes with vectors.
// Note: ties go to the even code (0.75 to 1, 2.5 to 2), not away from zero; a quotient below zero
// that rounds to zero keeps its sign (code 8), but -0 does not (code 0).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

inline constexpr uint32_t kE2m1BlockValues = 16;
inline constexpr uint32_t kE2m1BlockBytes = 8;

// Find the largest magnitude of each block of 16 values; NaN if one is among them.
void find_block_amax(const float* values, uint64_t blocks, float* amax);
void find_block_amax_scalar(const float* values, uint64_t blocks, float* amax);

// Compute the codes of value / divisors[block], 8 bytes per block; NaN becomes code 7.
void pack_e2m1(const float* values, uint64_t blocks, const float* divisors, std::byte* codes);
void pack_e2m1_scalar(const float* values, uint64_t blocks, const float* divisors,
                      std::byte* codes);

// Decode E2M1 times scales[block]; code 8 gives -0 times the scale.
void unpack_e2m1(const std::byte* codes, uint64_t blocks, const float* scales, float* values);
void unpack_e2m1_scalar(const std::byte* codes, uint64_t blocks, const float* scales,
                        float* values);

// Compute NVFP4 block scales: `scales` gets the E4M3 codes of amax / (6 tensor_scale), `divisors`
// the numbers that they represent times tensor_scale. A block of zeros gets scale 1; others are
// clamped to [2^-9, 448].
void make_nvfp4_scales(const float* amax, uint64_t blocks, float tensor_scale, std::byte* scales,
                       float* divisors);
void make_nvfp4_scales_scalar(const float* amax, uint64_t blocks, float tensor_scale,
                              std::byte* scales, float* divisors);

// errors[i] is the sum of weights x (value - E2M1 divisors[i])^2 over a block of 16 values, with
// the E2M1 nearest to value / divisors[i]. Elements 8 apart are added first, then 4, 2 and 1 apart.
struct E2m1Block {
  const float* values;
  const float* weights;
};
void find_e2m1_errors(const E2m1Block& block, const float* divisors, uint64_t count, float* errors);
void find_e2m1_errors_scalar(const E2m1Block& block, const float* divisors, uint64_t count,
                             float* errors);

// The E2M1 number nearest to a magnitude, ties to even; 6 for NaN.
float nearest_e2m1_scalar(float magnitude);

// Searches NVFP4 block scales (checkpoint_search.cc). `tensor_scale` is the tensor's, `weights` the
// importance of each value of the block. Returns the best of all codes from 2^-9 to 448, the
// smallest of equally good ones. Requires: `amax` is the block's largest magnitude, above 0 and
// finite.
uint8_t best_nvfp4_scale(const E2m1Block& block, float tensor_scale, float amax);

inline constexpr int32_t kScaleCodesBelow = 6, kScaleCodesTried = 14;

// One run of columns of ErrorFeedback.
struct FeedbackRun {
  const float* factors;  // [columns][columns]
  const float* weights;  // one per column
  uint32_t columns;      // a multiple of 16
  float tensor_scale;
};

// Rows of a run within longer rows.
struct RowsOfRun {
  float* values;        // replaced by rounded values
  uint64_t row_values;  // distance between rows
  std::byte* scales;    // E4M3 codes, one per block
  uint64_t row_blocks;
  uint64_t rows;
};

void fit_nvfp4_run(const RowsOfRun& rows, const FeedbackRun& run);
void fit_nvfp4_run_scalar(const RowsOfRun& rows, const FeedbackRun& run);

}  // namespace ckpt
