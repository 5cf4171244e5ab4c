// The encoders that encode_bench times: one row a type, ours and the scalar twin in one signature.
//
// `encode` follows simd_target(), `scalar` never does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/model/codec.h"

namespace ckpt {

using EncodeRows = void (*)(ConstFloatRows rows, std::span<const float> weights, std::byte* out);

struct Encoder {
  std::string_view name;  // "q4_k", "q4_k weighted"
  int ggml_type;          // number in ggml's enum ggml_type, or kNoPeer
  uint32_t block_values;
  uint32_t block_bytes;
  bool weighted;  // uses the column weights
  EncodeRows encode;
  EncodeRows scalar;
  static constexpr int kNoPeer = -1;
};

std::span<const Encoder> all_encoders();

}  // namespace ckpt
