// The vector encoders of Q4_K, Q5_K and Q6_K against their scalar twins, block by block, on every
// target of this processor. CKPT_LONG=1 takes about 60 million weights a type and target.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"
#include "tests/quantizers/common.h"
#include "tests/support/weight_sets.h"

namespace ckpt {
namespace {

constexpr size_t kValues = 256;
constexpr size_t kChunkBlocks = 128;

struct KType {
  const char* name;
  size_t block_bytes;
  void (*encode)(const float* values, uint64_t blocks, std::byte* out);
  void (*scalar)(const float* values, uint64_t blocks, std::byte* out);
};

template <class Block, void (*kEncode)(const float*, uint64_t, Block*)>
void into_bytes(const float* values, uint64_t blocks, std::byte* out) {
  kEncode(values, blocks, reinterpret_cast<Block*>(out));
}

constexpr KType kKTypes[] = {
    {"q4_k", sizeof(BlockQ4K), into_bytes<BlockQ4K, encode_q4_k>,
     into_bytes<BlockQ4K, encode_q4_k_scalar>},
    {"q5_k", sizeof(BlockQ5K), into_bytes<BlockQ5K, encode_q5_k>,
     into_bytes<BlockQ5K, encode_q5_k_scalar>},
    {"q6_k", sizeof(BlockQ6K), into_bytes<BlockQ6K, encode_q6_k>,
     into_bytes<BlockQ6K, encode_q6_k_scalar>},
};

size_t chunks_of_each_set() {
  const size_t weights = is_long() ? 60'000'000 : 2'500'000;
  return weights / (weight_sets().size() * kChunkBlocks * kValues) + 1;
}

class SimdKQuants : public testing::TestWithParam<KType> {
 protected:
  void SetUp() override { before_ = simd_target(); }
  void TearDown() override { EXPECT_EQ(simd_target(), before_); }  // nothing stays forced

  // The scalar twin's bytes, then each target's; a sentence for the first block that differs.
  void compare(const std::vector<float>& values, const std::string& what) {
    const KType& type = GetParam();
    const size_t blocks = values.size() / kValues;
    std::vector<std::byte> expected(blocks * type.block_bytes);
    type.scalar(values.data(), blocks, expected.data());
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      std::vector<std::byte> found(expected.size(), std::byte{0xA5});
      type.encode(values.data(), blocks, found.data());
      ran_.insert(simd_target());
      const auto different = std::mismatch(found.begin(), found.end(), expected.begin()).first;
      if (different == found.end()) continue;
      ADD_FAILURE() << type.name << " " << simd_target_name(target) << ", " << what << ": block "
                    << static_cast<size_t>(different - found.begin()) / type.block_bytes;
    }
  }

  std::set<SimdTarget> ran_;

 private:
  SimdTarget before_{};
};

TEST_P(SimdKQuants, EqualTheScalarTwinOnEverySet) {
  std::vector<float> values(kChunkBlocks * kValues);
  const size_t chunks = chunks_of_each_set();
  for (const WeightSet& set : weight_sets()) {
    for (size_t chunk = 0; chunk < chunks && !HasFailure(); ++chunk) {
      Dice dice(chunk + 1);
      set.fill(values, dice);
      compare(values, std::string(set.name) + " chunk " + std::to_string(chunk));
    }
  }
  const std::set<SimdTarget> all(simd_targets().begin(), simd_targets().end());
  EXPECT_EQ(ran_, all);
}

// One block after the other through every place of a step, each count on some of the sets, and
// nothing written behind the last.
TEST_P(SimdKQuants, EqualTheScalarTwinForEveryBlockCount) {
  const KType& type = GetParam();
  constexpr size_t kMost = 70;
  for (size_t s = 0; s < weight_sets().size(); ++s) {
    const WeightSet& set = weight_sets()[s];
    Dice dice(99);
    std::vector<float> values(kMost * kValues + 1);
    set.fill(std::span(values).subspan(0, kMost * kValues), dice);
    std::rotate(values.rbegin(), values.rbegin() + 1, values.rend());  // not aligned
    const float* first = values.data() + 1;
    std::vector<std::byte> expected(kMost * type.block_bytes);
    type.scalar(first, kMost, expected.data());
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      for (size_t blocks = s % 8; blocks <= kMost; blocks += 8) {
        std::vector<std::byte> found(blocks * type.block_bytes + 64, std::byte{0xA5});
        type.encode(first, blocks, found.data());
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(blocks * type.block_bytes);
        ASSERT_TRUE(std::equal(found.begin(), end, expected.begin()))
            << set.name << " " << simd_target_name(target) << " " << blocks << " blocks";
        ASSERT_EQ(std::count(end, found.end(), std::byte{0xA5}), 64) << "written past the end";
      }
    }
  }
}

// Every pair of neighbors: a block that takes its own path must not change its neighbor.
TEST_P(SimdKQuants, BlocksDoNotChangeTheirNeighbors) {
  const auto sets = weight_sets();
  std::vector<float> values(2 * sets.size() * sets.size() * kValues);
  Dice dice(7);
  std::span<float> rest(values);
  for (const WeightSet& a : sets) {
    for (const WeightSet& b : sets) {
      a.fill(rest.subspan(0, kValues), dice);
      b.fill(rest.subspan(kValues, kValues), dice);
      rest = rest.subspan(2 * kValues);
    }
  }
  compare(values, "pairs of sets");
}

INSTANTIATE_TEST_SUITE_P(Types, SimdKQuants, testing::ValuesIn(kKTypes),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ckpt
