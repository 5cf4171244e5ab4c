// The vector encoders of Q2_K and Q3_K against their scalar twins.
#include "quantizers/ggml/k/k_quants.h"
#include "tests/quantizers/simd_encode_checks.h"

namespace ckpt {
namespace {

using SimdSmallKQuants = SimdEncoders;

TEST_P(SimdSmallKQuants, EqualTheScalarTwinOnEverySet) { check_every_set(); }
TEST_P(SimdSmallKQuants, EqualTheScalarTwinForEveryBlockCount) { check_every_count(); }
TEST_P(SimdSmallKQuants, BlocksDoNotChangeTheirNeighbors) { check_neighbors(); }

// One sub-block in each block is 1e-1 .. 1e-8 of the others: its rounded scale is 0 or nearly, and
// it keeps the codes of its search.
TEST_P(SimdSmallKQuants, SubBlocksTooSmallForTheirBlock) {
  std::vector<float> values(512 * 256);
  Dice dice(31);
  for (size_t block = 0; block < 512; ++block) {
    for (size_t i = 0; i < 256; ++i) values[256 * block + i] = dice.normal();
    const size_t sub = 16 * (block % 16);
    const float factor = std::exp2(-static_cast<float>(dice.below(27)));
    for (size_t i = 0; i < 16; ++i) values[256 * block + sub + i] *= factor;
  }
  compare({values, 256 * 64}, {}, "small sub-blocks");
}

INSTANTIATE_TEST_SUITE_P(
    Types, SimdSmallKQuants,
    testing::Values(unweighted_encoder<BlockQ2K, encode_q2_k, encode_q2_k_scalar>("q2_k"),
                    unweighted_encoder<BlockQ3K, encode_q3_k, encode_q3_k_scalar>("q3_k")),
    encoder_name);

}  // namespace
}  // namespace ckpt
