// Two chains of SHA-256 by the SHA extensions of x86-64: a chain alone waits for each of its
// instructions, and the other one's fill the time.
#include "core/simd/sha256_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define CKPT_SHA __attribute__((target("sha,sse4.1")))

namespace ckpt {
namespace {

// The instructions hold the words of a state as a b e f and c d g h, the first one highest.
struct PairLane {
  __m128i abef, cdgh;
  const __m128i* blocks;
};

CKPT_SHA PairLane pair_lane_of(const Sha256Chain& chain) {
  const auto* words = reinterpret_cast<const __m128i*>(chain.words);
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  return {_mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xF0),
          reinterpret_cast<const __m128i*>(chain.blocks)};
}

CKPT_SHA void store_pair_lane(const PairLane& lane, uint32_t* words) {
  auto* const out = reinterpret_cast<__m128i*>(words);
  const __m128i feba = _mm_shuffle_epi32(lane.abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(lane.cdgh, 0xB1);
  _mm_storeu_si128(out, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(out + 1, _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace

// The rounds of both chains alternate, and all loops are unrolled. A loop over the chains inside
// each round takes a tenth longer.
CKPT_SHA void sha256_pair(std::span<const Sha256Chain> chains, size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
  PairLane x = pair_lane_of(chains.front()), y = pair_lane_of(chains.back());
  for (; blocks > 0; --blocks) {
    const PairLane x_before = x, y_before = y;
    __m128i w[2][4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      w[0][i] = _mm_shuffle_epi8(_mm_loadu_si128(x.blocks++), swap);
      w[1][i] = _mm_shuffle_epi8(_mm_loadu_si128(y.blocks++), swap);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {  // four rounds each
      const auto* constants = reinterpret_cast<const __m128i*>(kSha256Rounds.data() + 4 * i);
      const __m128i x_sum = _mm_add_epi32(w[0][i % 4], _mm_load_si128(constants));
      const __m128i y_sum = _mm_add_epi32(w[1][i % 4], _mm_load_si128(constants));
      x.cdgh = _mm_sha256rnds2_epu32(x.cdgh, x.abef, x_sum);
      y.cdgh = _mm_sha256rnds2_epu32(y.cdgh, y.abef, y_sum);
      x.abef = _mm_sha256rnds2_epu32(x.abef, x.cdgh, _mm_shuffle_epi32(x_sum, 0x0E));
      y.abef = _mm_sha256rnds2_epu32(y.abef, y.cdgh, _mm_shuffle_epi32(y_sum, 0x0E));
      if (i >= 12) continue;
#pragma GCC unroll 2
      for (auto& words : w) {
        __m128i& word = words[i % 4];
        const __m128i last = words[(i + 3) % 4];
        const __m128i between = _mm_alignr_epi8(last, words[(i + 2) % 4], 4);
        word = _mm_add_epi32(_mm_sha256msg1_epu32(word, words[(i + 1) % 4]), between);
        word = _mm_sha256msg2_epu32(word, last);
      }
    }
    x.abef = _mm_add_epi32(x.abef, x_before.abef);
    x.cdgh = _mm_add_epi32(x.cdgh, x_before.cdgh);
    y.abef = _mm_add_epi32(y.abef, y_before.abef);
    y.cdgh = _mm_add_epi32(y.cdgh, y_before.cdgh);
  }
  store_pair_lane(x, chains.front().words);
  store_pair_lane(y, chains.back().words);
}

}  // namespace ckpt
#endif
