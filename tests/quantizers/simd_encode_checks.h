// Shared by tests of vector encoders: one list entry a type, and checks against its scalar twin.
//
// The checks run on every target of this processor and say which block differs first. CKPT_LONG=1
// takes about 60 million weights a type and target.
// Encoders with column weights see rows, so blocks are laid out as rows of `row_blocks`; the same
// column weights serve all rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/model/codec.h"
#include "core/simd/dispatch.h"
#include "tests/quantizers/common.h"
#include "tests/support/weight_sets.h"

// Defined under the address sanitizer alone. A macro would not tell: tests are compiled without it.
extern "C" [[gnu::weak]] void __asan_init();

namespace ckpt {

inline bool is_sanitized() { return &__asan_init != nullptr; }

struct SimdEncoder {
  std::string name;
  size_t block_values, block_bytes;
  bool weighted;
  void (*encode)(ConstFloatRows rows, std::span<const float> weights, std::byte* out);
  void (*scalar)(ConstFloatRows rows, std::span<const float> weights, std::byte* out);
};

template <class Block, void (*kEncode)(const float*, uint64_t, Block*)>
void encode_unweighted(ConstFloatRows rows, std::span<const float>, std::byte* out) {
  kEncode(rows.values.data(), rows.values.size() / Block::kValues, reinterpret_cast<Block*>(out));
}

template <class Block, void (*kEncode)(ConstFloatRows, std::span<const float>, Block*)>
void encode_weighted(ConstFloatRows rows, std::span<const float> weights, std::byte* out) {
  kEncode(rows, weights, reinterpret_cast<Block*>(out));
}

template <class Block, void (*kEncode)(const float*, uint64_t, Block*),
          void (*kScalar)(const float*, uint64_t, Block*)>
SimdEncoder unweighted_encoder(std::string name) {
  return {std::move(name),
          Block::kValues,
          sizeof(Block),
          false,
          encode_unweighted<Block, kEncode>,
          encode_unweighted<Block, kScalar>};
}

template <class Block, void (*kEncode)(ConstFloatRows, std::span<const float>, Block*),
          void (*kScalar)(ConstFloatRows, std::span<const float>, Block*)>
SimdEncoder weighted_encoder(std::string name) {
  return {std::move(name),
          Block::kValues,
          sizeof(Block),
          true,
          encode_weighted<Block, kEncode>,
          encode_weighted<Block, kScalar>};
}

// Importances of 0 and of very different sizes are among them; seed 0: all 1.
inline std::vector<float> make_column_weights(size_t count, uint64_t seed) {
  Dice dice(seed);
  std::vector<float> weights(count, 1.0f);
  if (seed == 0) return weights;
  const float spread = static_cast<float>(seed % 4);
  for (float& weight : weights) {
    const float size = dice.normal() * spread;
    weight = dice.below(50) == 0 ? 0.0f : dice.uniform() * std::exp2(size);
  }
  return weights;
}

class SimdEncoders : public testing::TestWithParam<SimdEncoder> {
 protected:
  void SetUp() override { before_ = simd_target(); }
  void TearDown() override { EXPECT_EQ(simd_target(), before_); }  // nothing stays forced

  // Each target's bytes against the scalar twin's, and 64 bytes behind them untouched.
  void compare(ConstFloatRows rows, std::span<const float> weights, const std::string& what) {
    compare(rows, weights, twin_bytes(rows, weights), what);
  }

  std::vector<std::byte> twin_bytes(ConstFloatRows rows, std::span<const float> weights) {
    const SimdEncoder& type = GetParam();
    const size_t bytes = rows.values.size() / type.block_values * type.block_bytes;
    std::vector<std::byte> expected(bytes + 64, std::byte{0xA5});
    type.scalar(rows, weights, expected.data());
    EXPECT_EQ(std::count(expected.end() - 64, expected.end(), std::byte{0xA5}), 64);
    return expected;
  }

  // `expected`: at least the bytes of these rows.
  void compare(ConstFloatRows rows, std::span<const float> weights,
               std::span<const std::byte> expected, const std::string& what) {
    const SimdEncoder& type = GetParam();
    const size_t bytes = rows.values.size() / type.block_values * type.block_bytes;
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      std::vector<std::byte> found(bytes + 64, std::byte{0xA5});
      type.encode(rows, weights, found.data());
      ran_.insert(simd_target());
      const auto end = found.begin() + static_cast<std::ptrdiff_t>(bytes);
      EXPECT_EQ(std::count(end, found.end(), std::byte{0xA5}), 64) << "written past the end";
      const auto different = std::mismatch(found.begin(), end, expected.begin()).first;
      if (different == end) continue;
      const auto at = static_cast<size_t>(different - found.begin());
      ADD_FAILURE() << type.name << " " << simd_target_name(target) << ", " << what << ": block "
                    << at / type.block_bytes << ", its byte " << at % type.block_bytes;
    }
  }

  void check_every_set() {
    constexpr size_t kRowValues = 2048;
    constexpr size_t kRows = 12;
    std::vector<float> values(kRows * kRowValues);
    const size_t wanted = is_long() ? 60'000'000 : 1'200'000;
    const size_t chunks = wanted / (weight_sets().size() * values.size()) + 1;
    for (const WeightSet& set : weight_sets()) {
      for (size_t chunk = 0; chunk < chunks && !HasFailure(); ++chunk) {
        Dice dice(chunk + 1);
        set.fill(values, dice);
        compare({values, kRowValues}, make_column_weights(kRowValues, chunk % 7),
                std::string(set.name) + " chunk " + std::to_string(chunk));
      }
    }
    const std::set<SimdTarget> all(simd_targets().begin(), simd_targets().end());
    EXPECT_EQ(ran_, all);
  }

  // Every count of blocks, as one row, from an address that is aligned to a float only; each count
  // on some of the sets. One run of the twin serves all counts, but where column weights and blocks
  // of 32 meet: those are weighed by the sum of squares of their row.
  void check_every_count() {
    constexpr size_t kMost = 70;
    const size_t block = GetParam().block_values;
    const bool depends_on_row = GetParam().weighted && block < 256;
    for (size_t s = 0; s < weight_sets().size(); ++s) {
      const WeightSet& set = weight_sets()[s];
      Dice dice(99);
      std::vector<float> values((kMost * block + 255) / 256 * 256);
      set.fill(values, dice);
      values.insert(values.begin(), 0.0f);
      const auto weights = make_column_weights(kMost * block + 1, 5);
      std::vector<std::byte> expected;
      for (size_t blocks = kMost - s % 8; blocks > 0 && !HasFailure();
           blocks -= std::min(blocks, size_t{8})) {
        const size_t count = blocks * block;
        const ConstFloatRows row{std::span<const float>(values).subspan(1, count), count};
        const auto row_weights = std::span<const float>(weights).subspan(1, count);
        if (depends_on_row || expected.empty()) expected = twin_bytes(row, row_weights);
        compare(row, row_weights, expected,
                std::string(set.name) + ", " + std::to_string(blocks) + " blocks");
      }
    }
  }

  // Short and long rows, each on some of the sets: column weights start again with each row.
  // Sanitizers look for reads beyond a row, which any values show.
  void check_every_row_length() {
    const size_t block = GetParam().block_values;
    std::vector<float> values(144 * 256);
    for (size_t s = 0; s < (is_sanitized() ? 6 : weight_sets().size()); ++s) {
      const WeightSet& set = weight_sets()[s];
      Dice dice(3);
      set.fill(values, dice);
      for (size_t row_blocks = 1 + s % 12; row_blocks <= 24 && !HasFailure(); row_blocks += 12) {
        const size_t row = row_blocks * block;
        const size_t count = std::min(values.size() / row, 19 + row_blocks % 5) * row;
        compare({std::span<const float>(values).subspan(0, count), row},
                make_column_weights(row, row_blocks),
                std::string(set.name) + ", rows of " + std::to_string(row_blocks));
      }
    }
  }

  // Every pair of neighbors: a block that takes its own path must not change its neighbor. To
  // sanitizers, which look at single reads and sums, each set is shown next to few others.
  void check_neighbors() {
    constexpr size_t kStep = 256;
    const auto sets = weight_sets();
    const auto others = is_sanitized() ? sets.subspan(0, 3) : sets;
    std::vector<float> values(2 * sets.size() * others.size() * kStep);
    Dice dice(7);
    std::span<float> rest(values);
    for (const WeightSet& a : sets) {
      for (const WeightSet& b : others) {
        a.fill(rest.subspan(0, kStep), dice);
        b.fill(rest.subspan(kStep, kStep), dice);
        rest = rest.subspan(2 * kStep);
      }
    }
    compare({values, 2 * kStep}, make_column_weights(2 * kStep, 3), "pairs of sets");
  }

 private:
  std::set<SimdTarget> ran_;
  SimdTarget before_{};
};

inline std::string encoder_name(const testing::TestParamInfo<SimdEncoder>& each) {
  return each.param.name;
}

}  // namespace ckpt
