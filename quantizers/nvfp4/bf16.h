// Encodes NVFP4 directly from bfloat16: the same bytes as through floats, but faster.
//
// A function NAME_scalar is the specification of NAME, which gives the same result with vectors.
// Note: Inf and NaN are detected, not encoded; callers that need them encoded or located convert to
// floats first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

// Encode blocks of 16 values to codes (8 bytes per block) and scales (1 byte per block), as
// find_block_amax, make_nvfp4_scales and pack_e2m1 do. Return false, with useless output, if an Inf
// or NaN is among the values.
struct Nvfp4Out {
  std::byte* codes;
  std::byte* scales;
};
bool encode_nvfp4_bf16(const std::byte* values, uint64_t blocks, float tensor_scale, Nvfp4Out out);
bool encode_nvfp4_bf16_scalar(const std::byte* values, uint64_t blocks, float tensor_scale,
                              Nvfp4Out out);

}  // namespace ckpt
