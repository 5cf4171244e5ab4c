// SHA-256 of as many chains as a vector has 32-bit lanes: lane i computes chain i.
//
//   blocks of 16 chains      16 words of each, transposed: vector w holds word w of every chain
//   64 rounds                as in sha256_wide_scalar, on vectors
#include <algorithm>

#include "core/simd/dispatch.h"
#include "core/simd/sha256_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd/sha256_lanes_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if CKPT_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace ckpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// 16 bytes of each fourth chain, `from` on: a 128-bit block each.
template <class D>
HWY_INLINE hn::Vec<D> load_quarters(D d, const uint8_t* const* from, size_t offset_bytes) {
  if constexpr (hn::MaxLanes(d) == 4) {
    const hn::Repartition<uint8_t, D> bytes;
    return hn::BitCast(d, hn::LoadU(bytes, *from + offset_bytes));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_quarters(half, from + hn::MaxLanes(half), offset_bytes),
                       load_quarters(half, from, offset_bytes));
  }
}

// Words 4 q to 4 q + 3 of the next block of each chain.
template <class D>
HWY_INLINE void load_words(D d, const uint8_t* const* from, size_t q, hn::Vec<D>* out) {
  const hn::Repartition<uint8_t, D> bytes;
  const hn::Repartition<uint64_t, D> pairs;
  alignas(16) static constexpr uint8_t kSwap[16] = {3,  2,  1, 0, 7,  6,  5,  4,
                                                    11, 10, 9, 8, 15, 14, 13, 12};
  const auto swap = hn::LoadDup128(bytes, kSwap);
  hn::Vec<D> v[4];
  for (size_t i = 0; i < 4; ++i) {
    v[i] = load_quarters(d, from + i, 16 * q);
    v[i] = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, v[i]), swap));
  }
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  out[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  out[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  out[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  out[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

template <int kA, int kB, int kC, class V>
HWY_INLINE V rotations(V v) {
  return hn::Xor3(hn::RotateRight<kA>(v), hn::RotateRight<kB>(v), hn::RotateRight<kC>(v));
}
template <int kA, int kB, int kShift, class V>
HWY_INLINE V small_sigma(V v) {
  return hn::Xor3(hn::RotateRight<kA>(v), hn::RotateRight<kB>(v), hn::ShiftRight<kShift>(v));
}
template <class V>
HWY_INLINE V choose(V e, V f, V g) {
  return hn::Xor(g, hn::And(e, hn::Xor(f, g)));
}
template <class V>
HWY_INLINE V majority(V a, V b, V c) {
  return hn::Or(hn::And(a, b), hn::And(c, hn::Or(a, b)));
}

// Sixteen rounds; the words of the next sixteen take the place of theirs.
template <bool kIsLast, class D>
HWY_INLINE void add_rounds(D d, const uint32_t* constants, hn::Vec<D>* w, hn::Vec<D>* s) {
  using V = hn::Vec<D>;
  HWY_UNROLL(16)
  for (size_t i = 0; i < 16; ++i) {
    const V a = s[(0 - i) % 8], b = s[(1 - i) % 8], c = s[(2 - i) % 8], e = s[(4 - i) % 8];
    const V f = s[(5 - i) % 8], g = s[(6 - i) % 8];
    const V with_word = hn::Add(hn::Add(s[(7 - i) % 8], hn::Set(d, constants[i])), w[i]);
    const V first = hn::Add(hn::Add(with_word, rotations<6, 11, 25>(e)), choose(e, f, g));
    s[(3 - i) % 8] = hn::Add(s[(3 - i) % 8], first);
    s[(7 - i) % 8] = hn::Add(first, hn::Add(rotations<2, 13, 22>(a), majority(a, b, c)));
    if constexpr (!kIsLast) {
      const V before = hn::Add(w[i], w[(i + 9) % 16]);
      w[i] = hn::Add(before, hn::Add(small_sigma<7, 18, 3>(w[(i + 1) % 16]),
                                     small_sigma<17, 19, 10>(w[(i + 14) % 16])));
    }
  }
}

template <class D>
HWY_INLINE void add_in_lanes(D d, std::span<const Sha256Chain> chains, size_t blocks) {
  using V = hn::Vec<D>;
  constexpr size_t kCount = hn::MaxLanes(d);
  alignas(64) uint32_t words[kSha256Words][kCount];
  const uint8_t* from[kCount];
  for (size_t lane = 0; lane < kCount; ++lane) {  // lanes without a chain repeat the first
    const Sha256Chain& chain = chains[lane < chains.size() ? lane : 0];
    from[lane] = reinterpret_cast<const uint8_t*>(chain.blocks);
    for (size_t i = 0; i < kSha256Words; ++i) words[i][lane] = chain.words[i];
  }
  V state[kSha256Words];
  for (size_t i = 0; i < kSha256Words; ++i) state[i] = hn::Load(d, words[i]);
  for (; blocks > 0; --blocks) {
    V w[16], s[kSha256Words];
    for (size_t q = 0; q < 4; ++q) load_words(d, from, q, w + 4 * q);
    for (size_t i = 0; i < kSha256Words; ++i) s[i] = state[i];
    for (size_t round = 0; round < 48; round += 16) {
      add_rounds<false>(d, kSha256Rounds.data() + round, w, s);
    }
    add_rounds<true>(d, kSha256Rounds.data() + 48, w, s);
    for (size_t i = 0; i < kSha256Words; ++i) state[i] = hn::Add(state[i], s[i]);
    for (const uint8_t*& each : from) each += kSha256BlockBytes;
  }
  for (size_t i = 0; i < kSha256Words; ++i) hn::Store(state[i], d, words[i]);
  for (size_t lane = 0; lane < chains.size(); ++lane) {
    for (size_t i = 0; i < kSha256Words; ++i) chains[lane].words[i] = words[i][lane];
  }
}

}  // namespace

void sha256_add_wide(std::span<const Sha256Chain> chains, size_t blocks) {
  add_in_lanes(hn::ScalableTag<uint32_t>(), chains, blocks);
}

void sha256_add_half(std::span<const Sha256Chain> chains, size_t blocks) {
  add_in_lanes(hn::CappedTag<uint32_t, 8>(), chains, blocks);
}

}  // namespace ckpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // CKPT_SIMD_TARGET

#if HWY_ONCE
namespace ckpt {
namespace {

constexpr Sha256Function& sha256_half_scalar = sha256_wide_scalar;

}  // namespace

CKPT_SIMD_FUNCTION(void, sha256_wide, sha256_add_wide,
                   (std::span<const Sha256Chain> chains, size_t blocks), (chains, blocks))
CKPT_SIMD_FUNCTION(void, sha256_half, sha256_add_half,
                   (std::span<const Sha256Chain> chains, size_t blocks), (chains, blocks))

}  // namespace ckpt
#endif  // HWY_ONCE
