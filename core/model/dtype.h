// The element types that a part of a tensor may be stored in, and their sizes.
//
// An element is the smallest thing with an address of its own: one number, or one block of a ggml
// type (an element of kQ6K is 256 values in 210 bytes), or the whole bytes that sub-byte numbers
// fill (an element of kF4 is 2 values in 1 byte).
#pragma once

#include <cstdint>
#include <string_view>

namespace ckpt {

enum class Dtype : uint8_t {
  // numbers; safetensors: safetensors/src/tensor.rs `enum Dtype`
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
  // ggml blocks; ggml/include/ggml.h `enum ggml_type`
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ8_1,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K,
  kQ8K,
  kIq2Xxs,
  kIq2Xs,
  kIq3Xxs,
  kIq1S,
  kIq4Nl,
  kIq3S,
  kIq2S,
  kIq4Xs,
  kIq1M,
  kTq1_0,
  kTq2_0,
  kMxfp4,
  kNvfp4,
  kQ1_0,
  kQ2_0,
};

struct DtypeInfo {
  std::string_view name;  // as on the command line: "bf16", "q4_k"
  uint32_t values;        // numbers in one element
  uint32_t size_bytes;    // bytes of one element
};

// Table in dtype.cc, one row a Dtype, held to the sizes of ggml-common.h by a test.
const DtypeInfo& info(Dtype dtype);
inline uint32_t size_bytes(Dtype dtype) { return info(dtype).size_bytes; }
inline uint32_t element_values(Dtype dtype) { return info(dtype).values; }
inline constexpr uint32_t kDtypeCount = static_cast<uint32_t>(Dtype::kQ2_0) + 1;

}  // namespace ckpt
