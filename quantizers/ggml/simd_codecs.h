// Functions of codecs that run the kernel for this processor (simd/dispatch.h):
//
//   CKPT_SIMD_DECODER(decode_x, from_x, BlockX)     the kernel from_x of each target
//
// Their scalar twins are named decode_x_scalar.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/codec.h"
#include "quantizers/simd/dispatch.h"

#define CKPT_SIMD_CODEC(name, kernel, parameters, arguments)     \
  void name parameters {                                         \
    static constexpr SimdTable<decltype(name##_scalar)> kTable = \
        CKPT_SIMD_TABLE(name##_scalar, kernel);                  \
    simd_function(kTable) arguments;                             \
  }
#define CKPT_SIMD_DECODER(name, kernel, Block)                                     \
  CKPT_SIMD_CODEC(name, kernel, (const Block* in, uint64_t blocks, float* values), \
                  (in, blocks, values))
#define CKPT_SIMD_ENCODER(name, kernel, Block)                                      \
  CKPT_SIMD_CODEC(name, kernel, (const float* values, uint64_t blocks, Block* out), \
                  (values, blocks, out))
#define CKPT_SIMD_WEIGHTED_ENCODER(name, kernel, Block)                               \
  CKPT_SIMD_CODEC(name, kernel,                                                       \
                  (ConstFloatRows rows, std::span<const float> weights, Block * out), \
                  (rows, weights, out))
