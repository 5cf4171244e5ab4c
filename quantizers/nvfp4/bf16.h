// NVFP4 directly from plain bfloat16 values: the same bytes as through floats, but faster.
//
// A function NAME_scalar is the specification of NAME, which gives the same with vectors.
// Note: Inf and NaN are found, not encoded; who wants them encoded or
// reported by place goes through floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

// Codes (8 bytes a block) and scales (1 byte a block) of blocks of 16 values, as find_block_amax,
// make_nvfp4_scales and pack_e2m1 make them. False, with no use in what was written, when an Inf or
// NaN is among the values.
struct Nvfp4Out {
  std::byte* codes;
  std::byte* scales;
};
bool encode_nvfp4_bf16(const std::byte* values, uint64_t blocks, float tensor_scale, Nvfp4Out out);
bool encode_nvfp4_bf16_scalar(const std::byte* values, uint64_t blocks, float tensor_scale,
                              Nvfp4Out out);

}  // namespace ckpt
