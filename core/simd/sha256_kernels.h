// Kernels that add blocks to several chains of SHA-256 on one core. Private to core/simd, its tests
// and benchmarks; all else calls add_to_each().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ckpt {

inline constexpr size_t kSha256BlockBytes = 64, kSha256Words = 8;

// The state of a hash between two blocks, and the blocks to add.
struct Sha256Chain {
  uint32_t* words;  // kSha256Words
  const std::byte* blocks;
};

// Round constants (FIPS 180-4, 4.2.2).
alignas(64) extern const std::array<uint32_t, 64> kSha256Rounds;

// Each adds `blocks` blocks to each chain.
using Sha256Function = void(std::span<const Sha256Chain> chains, size_t blocks);
// The specification; any number of chains, one after another.
void sha256_wide_scalar(std::span<const Sha256Chain> chains, size_t blocks);
// Takes at most as many chains as a vector has 32-bit lanes: 16, 8, 4.
void sha256_wide(std::span<const Sha256Chain> chains, size_t blocks);
// Takes at most 8: with vectors of 256 bits AVX-512 is nearly as fast, and needs half as many
// chains.
void sha256_half(std::span<const Sha256Chain> chains, size_t blocks);
// Interleaves at most 2. Requires: uses_sha_instructions().
void sha256_pair(std::span<const Sha256Chain> chains, size_t blocks);

struct Sha256Kernel {
  size_t chains;      // at most
  size_t worth_from;  // fewer chains are faster with the next kernel, or alone
  Sha256Function* add;
};
// The kernels that this processor and simd_target() can run; those with most chains come first.
std::span<const Sha256Kernel> sha256_kernels();

}  // namespace ckpt
