#include "core/simd/sha256_kernels.h"

#include <bit>

#include "core/simd/dispatch.h"

namespace ckpt {
namespace {

uint32_t big_endian_word(const std::byte* at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<uint32_t>(at[i]);
  return word;
}

void add_block(uint32_t* words, const std::byte* block) {
  uint32_t w[64];
  for (size_t i = 0; i < 16; ++i) w[i] = big_endian_word(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t low = w[i - 15], high = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(low, 7) ^ std::rotr(low, 18) ^ low >> 3) +
           (std::rotr(high, 17) ^ std::rotr(high, 19) ^ high >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = std::to_array<uint32_t>(
      {words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]});
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kSha256Rounds[i] + w[i];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const uint32_t sums[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < kSha256Words; ++i) words[i] += sums[i];
}

}  // namespace

alignas(64) constinit const std::array<uint32_t, 64> kSha256Rounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void sha256_wide_scalar(std::span<const Sha256Chain> chains, size_t blocks) {
  for (const Sha256Chain& chain : chains) {
    const std::byte* const end = chain.blocks + blocks * kSha256BlockBytes;
    for (const std::byte* at = chain.blocks; at < end; at += kSha256BlockBytes) {
      add_block(chain.words, at);
    }
  }
}

std::span<const Sha256Kernel> sha256_kernels() {
  static constexpr Sha256Kernel kScalar[] = {{1, 1, sha256_wide_scalar}};
  static constexpr Sha256Kernel kSha[] = {{2, 2, sha256_pair}};
  static constexpr Sha256Kernel kAvx512Sha[] = {
      {16, 12, sha256_wide}, {8, 7, sha256_half}, {2, 2, sha256_pair}};
  static constexpr Sha256Kernel kAvx512[] = {{16, 9, sha256_wide}, {8, 2, sha256_half}};
  static constexpr Sha256Kernel kAvx2[] = {{8, 3, sha256_wide}};
  static constexpr Sha256Kernel kShort[] = {{4, 3, sha256_wide}};
  const SimdTarget target = simd_target();
  if (target == SimdTarget::kScalar) return kScalar;
  const bool has_sha = uses_sha_instructions();
  if (target == SimdTarget::kAvx512) {
    return has_sha ? std::span<const Sha256Kernel>(kAvx512Sha) : kAvx512;
  }
  if (has_sha) return kSha;
  return target == SimdTarget::kAvx2 ? std::span<const Sha256Kernel>(kAvx2) : kShort;
}

}  // namespace ckpt
