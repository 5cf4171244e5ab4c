// A batch for kernels: kLanes blocks of 256 values, searched sub-block by sub-block.
//
//   blocks      | sub-blocks 0..kSubs-1 | sub-blocks ... | ...           kLanes blocks
//   groups      |  kLanes sub-blocks |  kLanes sub-blocks |  ...         kSubs groups
//
// Note: the last batch may have fewer blocks; unused lanes then point to the last sub-block, whose
// results are computed repeatedly. Included once per target by *_simd.cc files only.
#if defined(CKPT_SIMD_BATCH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CKPT_SIMD_BATCH_H
#undef CKPT_SIMD_BATCH_H
#else
#define CKPT_SIMD_BATCH_H
#endif

#include <span>

#include "core/model/codec.h"
#include "quantizers/simd/rows.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

constexpr size_t kBlock = 256;

struct BlockBatch {
  const float* values = nullptr;      // values of the first block
  const float* weights[kLanes] = {};  // column weights of each block; null: none
  size_t blocks = 0;                  // 1..kLanes
};

inline BlockBatch make_batch(const float* values, uint64_t done, uint64_t blocks) {
  BlockBatch out;
  out.values = values + done * kBlock;
  out.blocks = blocks - done < kLanes ? static_cast<size_t>(blocks - done) : kLanes;
  return out;
}

inline BlockBatch make_batch(ConstFloatRows rows, std::span<const float> weights, uint64_t done) {
  const uint64_t row_blocks = rows.row_values / kBlock;
  BlockBatch out = make_batch(rows.values.data(), done, rows.values.size() / kBlock);
  for (size_t b = 0; b < out.blocks; ++b) {
    out.weights[b] = weights.data() + (done + b) % row_blocks * kBlock;
  }
  return out;
}

// Sets rows to the kLanes sub-blocks from `first` on, kSub values each.
template <size_t kSub>
HWY_INLINE void value_rows(const BlockBatch& batch, size_t first, const float** rows) {
  const size_t last = batch.blocks * (kBlock / kSub) - 1;
  for (size_t i = 0; i < kLanes; ++i) {
    rows[i] = batch.values + (first + i < last ? first + i : last) * kSub;
  }
}

template <size_t kSub>
HWY_INLINE void weight_rows(const BlockBatch& batch, size_t first, const float** rows) {
  constexpr size_t kSubs = kBlock / kSub;
  const size_t last = batch.blocks * kSubs - 1;
  for (size_t i = 0; i < kLanes; ++i) {
    const size_t sub = first + i < last ? first + i : last;
    rows[i] = batch.weights[sub / kSubs] + sub % kSubs * kSub;
  }
}

// Sets rows of one number per sub-block: results of searches, block by block.
template <size_t kSubs>
HWY_INLINE void found_rows(const BlockBatch& batch, const float* found, const float** rows) {
  const size_t last = batch.blocks - 1;
  for (size_t b = 0; b < kLanes; ++b) rows[b] = found + (b < last ? b : last) * kSubs;
}

// Computes variance[b] = factor * (sum of squares of block b, first to last value) / 256.
HWY_INLINE void find_variances(const BlockBatch& batch, float factor, float* variance) {
  const float* rows[kLanes];
  value_rows<kBlock>(batch, 0, rows);
  const Float sum = hn::Mul(splat(factor), sum_squares_rows(rows, kBlock));
  hn::Store(hn::Div(sum, splat(static_cast<float>(kBlock))), kF, variance);
}

// Computes w = column weight * sqrt(variance of the block + x^2) for sub-blocks from `first` on.
template <size_t kSub>
HWY_INLINE void weigh_lanes(const BlockBatch& batch, const float* variance, size_t first,
                            const float* x, float* w) {
  constexpr size_t kSubs = kBlock / kSub;
  alignas(64) float lane_variance[kLanes];
  const float* rows[kLanes];
  weight_rows<kSub>(batch, first, rows);
  transpose_rows(rows, kSub, w);
  for (size_t i = 0; i < kLanes; ++i) lane_variance[i] = variance[(first + i) / kSubs];
  const Float spread = hn::Load(kF, lane_variance);
  for (size_t e = 0; e < kSub; ++e) {
    const Float value = hn::Load(kF, x + e * kLanes);
    const Float root = hn::Sqrt(hn::Add(spread, hn::Mul(value, value)));
    hn::Store(hn::Mul(hn::Load(kF, w + e * kLanes), root), kF, w + e * kLanes);
  }
}

// Encodes block b of the batch with its scalar twin, with or without column weights.
template <class Block>
void encode_by_twin(const BlockBatch& batch, size_t b, Block* out,
                    void (*twin)(const float*, uint64_t, Block*)) {
  twin(batch.values + b * kBlock, 1, out + b);
}
template <class Block>
void encode_by_twin(const BlockBatch& batch, size_t b, Block* out,
                    void (*twin)(ConstFloatRows, std::span<const float>, Block*)) {
  twin({{batch.values + b * kBlock, kBlock}, kBlock}, {batch.weights[b], kBlock}, out + b);
}

// Calls finish_block() for each block of a batch whose searches are done, or its twin if is_bad().
template <class Found, class Levels, class Block, class Twin>
HWY_INLINE void finish_batch(const BlockBatch& batch, const Found& found, const Levels& levels,
                             Block* out, Twin* twin) {
  for (size_t b = 0; b < batch.blocks; ++b) {
    if (HWY_LIKELY(!is_bad(found, levels, b))) {
      finish_block(batch.values + b * kBlock, b, found, levels, out[b]);
    } else {
      encode_by_twin(batch, b, out, twin);
    }
  }
}

}  // namespace
}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET
#endif  // CKPT_SIMD_BATCH_H
