// The quantizers of llama.cpp's ggml library, loaded at run time, as the speed to compare with.
//
// CKPT_GGML_LIB names the library (libggml-base.so). Its bytes are ours only when the library was
// built without fused multiply-adds, as x86-64 builds are.
// Source: llama.cpp ggml/include/ggml.h `ggml_quantize_chunk`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/model/codec.h"

namespace ckpt {

class GgmlPeer {
 public:
  // kIo when the file is not a library or lacks the function.
  static Result<GgmlPeer> open(const char* path);

  // `type` is a number of ggml's enum ggml_type; weights may be empty.
  // Requires: `out` holds the blocks of all rows.
  void encode(int type, ConstFloatRows rows, std::span<const float> weights, std::byte* out) const;

 private:
  using QuantizeChunk = size_t (*)(int type, const float* values, void* out, int64_t start,
                                   int64_t rows, int64_t row_values, const float* weights);
  explicit GgmlPeer(QuantizeChunk quantize) : quantize_(quantize) {}
  QuantizeChunk quantize_;
};

}  // namespace ckpt
