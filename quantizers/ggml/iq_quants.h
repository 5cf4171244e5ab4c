// Encoding and decoding of ggml's types below four bits other than K-quants: TQ1_0, TQ2_0, IQ1,
// IQ2 and IQ3.
//
// Arguments as in block_quants.h and k_quants.h; TQ1_0 and TQ2_0 ignore weights, as ggml does.
// Note: ggml encodes IQ1_S, IQ2_XXS and IQ2_XS with weights only. Without, IQ1_S and these are
// weighted by the squares of the values here; callers that write files refuse that.
// Source of truth: llama.cpp ggml/src/ggml-quants.c, ggml/src/ggml-common.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "quantizers/ggml/ggml_iq_blocks.h"
#include "quantizers/ggml/iq1_search.h"
#include "quantizers/ggml/iq_search.h"

namespace ckpt {

void encode_tq1_0_scalar(const float* values, uint64_t blocks, BlockTq1_0* out);
void encode_tq2_0_scalar(const float* values, uint64_t blocks, BlockTq2_0* out);

// One block; the first argument is the scalar twin of the search, or the one with vectors.
// `column_weights` may be null.
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq2Xxs& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq2Xs& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq2S& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq3Xxs& out);
void encode_iq_block(TryIqScales search, const float* values, const float* column_weights,
                     BlockIq3S& out);
void encode_iq_block(const Iq1Search* search, const float* values, const float* column_weights,
                     BlockIq1S& out);
void encode_iq_block(const Iq1Search* search, const float* values, const float* column_weights,
                     BlockIq1M& out);

template <auto kSearch, class Block>
void encode_iq_blocks(const float* values, uint64_t blocks, Block* out) {
  for (uint64_t b = 0; b < blocks; ++b) {
    encode_iq_block(kSearch, values + b * Block::kValues, nullptr, out[b]);
  }
}
template <auto kSearch, class Block>
void encode_iq_rows_weighted(ConstFloatRows rows, std::span<const float> weights, Block* out) {
  const uint64_t row_blocks = rows.row_values / Block::kValues;
  for (uint64_t b = 0; b < rows.values.size() / Block::kValues; ++b) {
    encode_iq_block(kSearch, rows.values.data() + b * Block::kValues,
                    weights.data() + b % row_blocks * Block::kValues, out[b]);
  }
}

void decode_tq1_0_scalar(const BlockTq1_0* in, uint64_t blocks, float* values);
void decode_tq2_0_scalar(const BlockTq2_0* in, uint64_t blocks, float* values);
void decode_iq2_xxs_scalar(const BlockIq2Xxs* in, uint64_t blocks, float* values);
void decode_iq2_xs_scalar(const BlockIq2Xs* in, uint64_t blocks, float* values);
void decode_iq2_s_scalar(const BlockIq2S* in, uint64_t blocks, float* values);
void decode_iq3_xxs_scalar(const BlockIq3Xxs* in, uint64_t blocks, float* values);
void decode_iq3_s_scalar(const BlockIq3S* in, uint64_t blocks, float* values);
void decode_iq1_s_scalar(const BlockIq1S* in, uint64_t blocks, float* values);
void decode_iq1_m_scalar(const BlockIq1M* in, uint64_t blocks, float* values);

}  // namespace ckpt
