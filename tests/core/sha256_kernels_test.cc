// Kernels of SHA-256 give the words of their scalar twin, on every set of instructions.
#include "core/simd/sha256_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/simd/dispatch.h"

namespace ckpt {
namespace {

using Words = std::array<uint32_t, kSha256Words>;

constexpr Words kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr size_t kMostBlocks = 5;

// The words of `count` chains after so many blocks of random bytes, at any alignment.
std::vector<Words> words_by(Sha256Function* kernel, size_t count, size_t blocks) {
  std::mt19937 random(static_cast<unsigned>(count * 100 + blocks));
  std::vector<std::vector<std::byte>> bytes(count);
  std::vector<Words> words(count);
  std::vector<Sha256Chain> chains;
  for (size_t i = 0; i < count; ++i) {
    bytes[i].resize(i + blocks * kSha256BlockBytes);
    for (std::byte& each : bytes[i]) each = static_cast<std::byte>(random());
    for (uint32_t& word : words[i]) word = static_cast<uint32_t>(random());
    chains.push_back({words[i].data(), bytes[i].data() + i});
  }
  kernel(chains, blocks);
  return words;
}

void expect_twin(Sha256Function* kernel, size_t most_chains, std::string_view name) {
  for (size_t count = 1; count <= most_chains; ++count) {
    for (size_t blocks = 0; blocks <= kMostBlocks; ++blocks) {
      EXPECT_EQ(words_by(kernel, count, blocks), words_by(sha256_wide_scalar, count, blocks))
          << name << ", " << count << " chains of " << blocks << " blocks";
    }
  }
}

TEST(Sha256Kernels, TwinHasTheWordsOfTheStandard) {  // FIPS 180-4: "abc"
  std::array<std::byte, kSha256BlockBytes> block{std::byte{'a'}, std::byte{'b'}, std::byte{'c'},
                                                 std::byte{0x80}};
  block.back() = std::byte{24};
  Words words = kStart;
  const Sha256Chain chain{words.data(), block.data()};
  sha256_wide_scalar({&chain, 1}, 1);
  EXPECT_EQ(words, (Words{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c,
                          0xb410ff61, 0xf20015ad}));
}

TEST(Sha256Kernels, EqualTheirTwinOnEverySetOfInstructions) {
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    const std::string_view name = simd_target_name(target);
    const size_t lanes = target == SimdTarget::kAvx512 ? 16 : target == SimdTarget::kAvx2 ? 8 : 4;
    expect_twin(sha256_wide, lanes, name);
    expect_twin(sha256_half, std::min<size_t>(lanes, 8), name);
  }
}

TEST(Sha256Kernels, InstructionsForSha256EqualTheTwin) {
  if (!uses_sha_instructions()) GTEST_SKIP() << "this processor has none";
  expect_twin(sha256_pair, 2, "pair");
}

TEST(Sha256Kernels, AreChosenForEverySetOfInstructions) {
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    for (const Sha256Kernel& kernel : sha256_kernels()) {
      EXPECT_LE(kernel.worth_from, kernel.chains);
      expect_twin(kernel.add, kernel.chains, simd_target_name(target));
    }
  }
}

}  // namespace
}  // namespace ckpt
