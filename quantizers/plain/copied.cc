// Codecs of types that are copied unchanged and never decoded: integers, bool, complex numbers,
// sub-byte floats, and ggml types that no code here computes with.
//
// Only their size matters: an element of kF6E2M3 is 4 numbers in 3 bytes, of kQ8_1 32 in 36.
// Sources: safetensors/src/tensor.rs; llama.cpp ggml/src/ggml-common.h.
#include "quantizers/codec_list.h"

namespace ckpt {
constinit const Codec kBoolCodec = one_part_codec<Dtype::kBool>("truth values, copied");
constinit const Codec kU8Codec = one_part_codec<Dtype::kU8>("8-bit integers, copied");
constinit const Codec kI8Codec = one_part_codec<Dtype::kI8>("8-bit integers, copied");
constinit const Codec kI16Codec = one_part_codec<Dtype::kI16>("16-bit integers, copied");
constinit const Codec kU16Codec = one_part_codec<Dtype::kU16>("16-bit integers, copied");
constinit const Codec kI32Codec = one_part_codec<Dtype::kI32>("32-bit integers, copied");
constinit const Codec kU32Codec = one_part_codec<Dtype::kU32>("32-bit integers, copied");
constinit const Codec kI64Codec = one_part_codec<Dtype::kI64>("64-bit integers, copied");
constinit const Codec kU64Codec = one_part_codec<Dtype::kU64>("64-bit integers, copied");
constinit const Codec kC64Codec = one_part_codec<Dtype::kC64>("complex numbers, copied");
constinit const Codec kF4Codec = one_part_codec<Dtype::kF4>("4-bit floats, copied");
constinit const Codec kF6E2M3Codec = one_part_codec<Dtype::kF6E2M3>("6-bit floats, copied");
constinit const Codec kF6E3M2Codec = one_part_codec<Dtype::kF6E3M2>("6-bit floats, copied");
constinit const Codec kF8E4M3FnuzCodec =
    one_part_codec<Dtype::kF8E4M3Fnuz>("8-bit floats without -0, copied");
constinit const Codec kF8E5M2FnuzCodec =
    one_part_codec<Dtype::kF8E5M2Fnuz>("8-bit floats without -0, copied");

constinit const Codec kQ8_1Codec = one_part_codec<Dtype::kQ8_1>("ggml block, copied");
constinit const Codec kQ8KCodec = one_part_codec<Dtype::kQ8K>("ggml block, copied");
constinit const Codec kQ1_0Codec = one_part_codec<Dtype::kQ1_0>("ggml block, copied");
constinit const Codec kQ2_0Codec = one_part_codec<Dtype::kQ2_0>("ggml block, copied");

}  // namespace ckpt
