// Two chains of SHA-256 by the SHA-2 extension of 64-bit Arm: a chain alone waits for each of its
// instructions, and the other one's fill the time.
#include "core/simd/sha256_kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

namespace ckpt {

__attribute__((target("+crypto"))) void sha256_pair(std::span<const Sha256Chain> chains,
                                                    size_t blocks) {
  uint32x4_t state[2][2];
  const uint8_t* from[2];
  const Sha256Chain* const both[2] = {&chains.front(), &chains.back()};
  for (size_t c = 0; c < 2; ++c) {
    state[c][0] = vld1q_u32(both[c]->words);
    state[c][1] = vld1q_u32(both[c]->words + 4);
    from[c] = reinterpret_cast<const uint8_t*>(both[c]->blocks);
  }
  for (; blocks > 0; --blocks) {
    uint32x4_t abcd[2], efgh[2], w[2][4];
    for (size_t c = 0; c < 2; ++c) {
      abcd[c] = state[c][0];
      efgh[c] = state[c][1];
      for (size_t i = 0; i < 4; ++i, from[c] += 16) {
        w[c][i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(from[c])));
      }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {  // four rounds each
      const uint32x4_t constants = vld1q_u32(kSha256Rounds.data() + 4 * i);
#pragma GCC unroll 2
      for (size_t c = 0; c < 2; ++c) {
        uint32x4_t& word = w[c][i % 4];
        const uint32x4_t sum = vaddq_u32(word, constants), before = abcd[c];
        abcd[c] = vsha256hq_u32(before, efgh[c], sum);
        efgh[c] = vsha256h2q_u32(efgh[c], before, sum);
        if (i >= 12) continue;
        word = vsha256su1q_u32(vsha256su0q_u32(word, w[c][(i + 1) % 4]), w[c][(i + 2) % 4],
                               w[c][(i + 3) % 4]);
      }
    }
    for (size_t c = 0; c < 2; ++c) {
      state[c][0] = vaddq_u32(state[c][0], abcd[c]);
      state[c][1] = vaddq_u32(state[c][1], efgh[c]);
    }
  }
  for (size_t c = 0; c < chains.size(); ++c) {
    vst1q_u32(chains[c].words, state[c][0]);
    vst1q_u32(chains[c].words + 4, state[c][1]);
  }
}

}  // namespace ckpt
#endif
