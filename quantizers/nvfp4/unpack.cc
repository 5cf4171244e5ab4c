// Unpacks ggml's NVFP4 blocks into the parts of a ModelOpt checkpoint: bits move.
//
//   8 bytes of a block   v8v0 v9v1 v10v2 ... v15v7        low halves: values 0..7, high: 8..15
//   8 bytes of a row     v1v0 v3v2 ... v7v6 | v9v8 ... v15v14
//
// repack.h has drawings of both. Note: ggml reads scale 0x7F as zero and ignores the sign bit,
// where E4M3 has NaN and negative numbers, so rows with such scales are rejected.
#include <cstring>

#include "quantizers/codec_list.h"
#include "quantizers/nvfp4/repack.h"

namespace ckpt {
namespace {

// Gathers the low nibbles of 8 bytes into 4 bytes.
uint64_t gather_halves(uint64_t bytes) {
  uint64_t out = bytes & 0x0F0F0F0F0F0F0F0Fu;
  out = (out | out >> 4) & 0x00FF00FF00FF00FFu;
  out = (out | out >> 8) & 0x0000FFFF0000FFFFu;
  return (out | out >> 16) & 0x00000000FFFFFFFFu;
}

uint64_t move_rows(ConstParts from, uint64_t rows, uint64_t row_values, Parts to) {
  const uint64_t row_blocks = row_values / BlockNvfp4::kValues;
  const auto* blocks = reinterpret_cast<const BlockNvfp4*>(from[0].data());
  const uint64_t bad = unpack_nvfp4_blocks(blocks, rows * row_blocks, to[0].data(), to[1].data());
  std::memcpy(to[2].data(), from[1].data(), sizeof(float));
  return row_blocks == 0 ? rows : bad / row_blocks;
}

}  // namespace

uint64_t unpack_nvfp4_blocks(const BlockNvfp4* in, uint64_t blocks, std::byte* codes,
                             std::byte* scales) {
  uint64_t bad = blocks;
  for (uint64_t b = 0; b < blocks; ++b) {
    for (uint64_t s = 0; s < 4; ++s) {
      uint64_t pairs;
      std::memcpy(&pairs, in[b].codes + 8 * s, sizeof pairs);
      const uint64_t ordered = gather_halves(pairs) | gather_halves(pairs >> 4) << 32;
      std::memcpy(codes + (4 * b + s) * sizeof ordered, &ordered, sizeof ordered);
      scales[4 * b + s] = static_cast<std::byte>(in[b].scales[s]);
      if (in[b].scales[s] >= 0x7F && bad == blocks) bad = b;
    }
  }
  return bad;
}

constinit const Repack kNvfp4Unpack[1] = {
    {&kNvfp4GgufCodec, move_rows, "a block scale that ggml reads as another number"}};

}  // namespace ckpt
