// The vector encoders with column weights against their scalar twins.

#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/codebook/iq4.h"
#include "quantizers/ggml/k/k_quants.h"
#include "tests/quantizers/common.h"
#include "tests/quantizers/simd_encode_checks.h"

namespace ckpt {
namespace {

using SimdWeighted = SimdEncoders;

TEST_P(SimdWeighted, EqualTheScalarTwinOnEverySet) { check_every_set(); }
TEST_P(SimdWeighted, EqualTheScalarTwinForEveryBlockCount) { check_every_count(); }
TEST_P(SimdWeighted, EqualTheScalarTwinForEveryRowLength) { check_every_row_length(); }
TEST_P(SimdWeighted, BlocksDoNotChangeTheirNeighbors) { check_neighbors(); }

// Weights that imatrix files should not hold but may.
TEST_P(SimdWeighted, StrangeColumnWeights) {
  constexpr size_t kRow = 1024;
  std::vector<float> values((is_sanitized() ? 3 : 20) * kRow);
  Dice dice(21);
  for (float& value : values) value = dice.normal() * 0.02f;
  for (const float strange : {0.0f, -0.0f, -1.0f, 1e-40f, 1e-20f, 1e20f, 3e38f, kInf, kNan}) {
    auto weights = make_column_weights(kRow, 1);
    weights[77] = strange;
    weights[300] = strange;
    compare({values, kRow}, weights, "two weights of " + std::to_string(strange));
    compare({values, kRow}, std::vector<float>(kRow, strange),
            "all weights " + std::to_string(strange));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, SimdWeighted,
    testing::Values(
        weighted_encoder<BlockQ4_0, encode_q4_0_weighted, encode_q4_0_weighted_scalar>("q4_0"),
        weighted_encoder<BlockQ4_1, encode_q4_1_weighted, encode_q4_1_weighted_scalar>("q4_1"),
        weighted_encoder<BlockQ5_0, encode_q5_0_weighted, encode_q5_0_weighted_scalar>("q5_0"),
        weighted_encoder<BlockQ5_1, encode_q5_1_weighted, encode_q5_1_weighted_scalar>("q5_1"),
        weighted_encoder<BlockQ2K, encode_q2_k_weighted, encode_q2_k_weighted_scalar>("q2_k"),
        weighted_encoder<BlockQ3K, encode_q3_k_weighted, encode_q3_k_weighted_scalar>("q3_k"),
        weighted_encoder<BlockQ4K, encode_q4_k_weighted, encode_q4_k_weighted_scalar>("q4_k"),
        weighted_encoder<BlockQ5K, encode_q5_k_weighted, encode_q5_k_weighted_scalar>("q5_k"),
        weighted_encoder<BlockQ6K, encode_q6_k_weighted, encode_q6_k_weighted_scalar>("q6_k"),
        weighted_encoder<BlockIq4Nl, encode_iq_rows_weighted<&kIq4VectorSearch, BlockIq4Nl>,
                         encode_iq_rows_weighted<&kIq4ScalarSearch, BlockIq4Nl>>("iq4_nl"),
        weighted_encoder<BlockIq4Xs, encode_iq_rows_weighted<&kIq4VectorSearch, BlockIq4Xs>,
                         encode_iq_rows_weighted<&kIq4ScalarSearch, BlockIq4Xs>>("iq4_xs")),
    encoder_name);

}  // namespace
}  // namespace ckpt
