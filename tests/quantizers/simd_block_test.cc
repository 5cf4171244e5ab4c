// The vector encoders of Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL and IQ4_XS against their scalar
// twins.

#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/codebook/iq4.h"
#include "tests/quantizers/common.h"
#include "tests/quantizers/simd_encode_checks.h"

namespace ckpt {
namespace {

using SimdBlockQuants = SimdEncoders;

TEST_P(SimdBlockQuants, EqualTheScalarTwinOnEverySet) { check_every_set(); }
TEST_P(SimdBlockQuants, EqualTheScalarTwinForEveryBlockCount) { check_every_count(); }
TEST_P(SimdBlockQuants, BlocksDoNotChangeTheirNeighbors) { check_neighbors(); }

// Signs of zeros and of equal magnitudes, at every place: the first of equals counts.
TEST_P(SimdBlockQuants, TheFirstOfEqualValuesWins) {
  Dice dice(11);
  std::vector<float> values(4096 * 32);
  for (size_t block = 0; block < 4096; ++block) {
    const uint32_t kind = dice.below(4);
    const float size = kind == 0 ? 0.0f : static_cast<float>(1 + dice.below(3));
    for (size_t i = 0; i < 32; ++i) {
      const float sign = dice.below(2) == 0 ? 1.0f : -1.0f;
      const bool rare = kind == 2 && dice.below(12) != 0;
      const float value = kind == 3 ? static_cast<float>(dice.below(2)) * 0.0f : size;
      values[block * 32 + i] = rare ? 0.25f * sign : value * sign;
    }
  }
  compare({values, 32 * 64}, {}, "equal magnitudes");
}

// One number that is not finite at each place of a block, its neighbors ordinary.
TEST_P(SimdBlockQuants, OneInfOrNanAnywhere) {
  std::vector<float> values(3 * 4 * 32 * 32);
  Dice dice(5);
  for (float& value : values) value = dice.normal();
  const float special[] = {kInf, -kInf, kNan, -kNan};
  for (size_t i = 0; i < 128; ++i) values[(3 * i + 1) * 32 + i % 32] = special[i / 32];
  compare({values, 3 * 32}, {}, "one special value");
}

INSTANTIATE_TEST_SUITE_P(
    Types, SimdBlockQuants,
    testing::Values(unweighted_encoder<BlockQ4_0, encode_q4_0, encode_q4_0_scalar>("q4_0"),
                    unweighted_encoder<BlockQ4_1, encode_q4_1, encode_q4_1_scalar>("q4_1"),
                    unweighted_encoder<BlockQ5_0, encode_q5_0, encode_q5_0_scalar>("q5_0"),
                    unweighted_encoder<BlockQ5_1, encode_q5_1, encode_q5_1_scalar>("q5_1"),
                    unweighted_encoder<BlockQ8_0, encode_q8_0, encode_q8_0_scalar>("q8_0"),
                    unweighted_encoder<BlockIq4Nl, encode_iq_blocks<&kIq4VectorSearch, BlockIq4Nl>,
                                       encode_iq_blocks<&kIq4ScalarSearch, BlockIq4Nl>>("iq4_nl"),
                    unweighted_encoder<BlockIq4Xs, encode_iq_blocks<&kIq4VectorSearch, BlockIq4Xs>,
                                       encode_iq_blocks<&kIq4ScalarSearch, BlockIq4Xs>>("iq4_xs")),
    encoder_name);

}  // namespace
}  // namespace ckpt
