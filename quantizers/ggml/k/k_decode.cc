// The specification of decoding K-quants.
#include "quantizers/ggml/block_codec.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_quants.h"

namespace ckpt {
namespace {

template <class Block>
void decode_block(const Block& block, float* values) {
  uint8_t codes[Block::kValues];
  unpack_codes(block, codes);
  for (uint32_t j = 0; j < Block::kValues / Block::kSubValues; ++j) {
    const auto [scale, minimum] = sub_block_of(block, j);
    for (uint32_t i = Block::kSubValues * j; i < Block::kSubValues * (j + 1); ++i) {
      values[i] = scale * static_cast<float>(codes[i] + Block::kLowest) - minimum;
    }
  }
}

}  // namespace

#define CKPT_DECODED(name, Block) CKPT_SCALAR_DECODER(decode_##name##_scalar, Block)
CKPT_K_TYPES(CKPT_DECODED)
#undef CKPT_DECODED

}  // namespace ckpt
