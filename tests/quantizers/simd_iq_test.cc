// The vector searches of IQ1, IQ2 and IQ3 against their scalar twins.
#include <limits>

#include "quantizers/ggml/codebook/iq_quants.h"
#include "tests/quantizers/simd_encode_checks.h"

namespace ckpt {
namespace {

using SimdIqQuants = SimdEncoders;

// These searches take a thousand times as long as those of block quants, so fewer values go
// through them.
TEST_P(SimdIqQuants, EqualTheScalarTwinOnEverySet) {
  constexpr size_t kSearchedValues = 1024;
  std::vector<float> values(2 * kSearchedValues);
  for (const WeightSet& set : weight_sets()) {
    Dice dice(17);
    set.fill(values, dice);
    for (const uint64_t seed : {0u, 3u}) {
      compare({values, kSearchedValues}, make_column_weights(kSearchedValues, seed),
              std::string(set.name));
    }
  }
}

TEST_P(SimdIqQuants, BlocksDoNotChangeTheirNeighbors) { check_neighbors(); }

// Levels in equal steps have equal errors for many points: the first of equals counts.
TEST_P(SimdIqQuants, TheFirstOfEqualPointsWins) {
  Dice dice(11);
  std::vector<float> values(64 * 256);
  for (float& value : values) {
    value = (static_cast<float>(dice.below(8)) - 3.5f) * (dice.below(2) == 0 ? 1.0f : 2.0f);
  }
  const std::vector<float> flat(256, 1.0f);
  compare({values, 256}, flat, "equal steps");
}

TEST_P(SimdIqQuants, OneInfOrNanAnywhere) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(64 * 256);
  Dice dice(5);
  for (float& value : values) value = dice.normal();
  const float special[] = {kInf, -kInf, kNan, -kNan};
  for (size_t i = 0; i < 64; ++i) values[256 * i + 4 * i + i % 4] = special[i / 16];
  compare({values, 256}, std::vector<float>(256, 0.5f), "one special value");
}

template <class Block, auto kVectors, auto kScalar>
SimdEncoder iq_encoder(std::string name) {
  return weighted_encoder<Block, encode_iq_rows_weighted<kVectors, Block>,
                          encode_iq_rows_weighted<kScalar, Block>>(std::move(name));
}
template <class Block>
SimdEncoder iq1_encoder(std::string name) {
  return iq_encoder<Block, &kIq1VectorSearch, &kIq1ScalarSearch>(std::move(name));
}
template <class Block>
SimdEncoder iq2_encoder(std::string name) {
  return iq_encoder<Block, try_iq_scales, try_iq_scales_scalar>(std::move(name));
}

INSTANTIATE_TEST_SUITE_P(
    Types, SimdIqQuants,
    testing::Values(iq1_encoder<BlockIq1S>("iq1_s"), iq1_encoder<BlockIq1M>("iq1_m"),
                    iq2_encoder<BlockIq2Xxs>("iq2_xxs"), iq2_encoder<BlockIq2Xs>("iq2_xs"),
                    iq2_encoder<BlockIq2S>("iq2_s"), iq2_encoder<BlockIq3Xxs>("iq3_xxs"),
                    iq2_encoder<BlockIq3S>("iq3_s")),
    encoder_name);

}  // namespace
}  // namespace ckpt
