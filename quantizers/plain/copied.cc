// Codecs of everything that is stored as it is and never decoded: integers, bool, complex numbers,
// sub-byte floats, and the ggml types that nothing here computes with.
//
// Only the size rule matters: an element of kF6E2M3 is 4 numbers in 3 bytes, of kQ8_1 32 in 36.
// Sources: safetensors/src/tensor.rs; llama.cpp ggml/src/ggml-common.h.
#include "quantizers/codec_list.h"

namespace ckpt {
namespace {

template <Dtype kDtype, uint32_t kValues = 1>
constexpr Codec copied(std::string_view name, std::string_view help) {
  Codec codec{};
  codec.name = name;
  codec.help = help;
  codec.parts = kOnePart<kDtype, kValues>;
  codec.band_rows = 1;
  codec.block_values = kValues;
  return codec;
}

}  // namespace

constinit const Codec kBoolCodec = copied<Dtype::kBool>("bool", "truth values, copied");
constinit const Codec kU8Codec = copied<Dtype::kU8>("u8", "8-bit integers, copied");
constinit const Codec kI8Codec = copied<Dtype::kI8>("i8", "8-bit integers, copied");
constinit const Codec kI16Codec = copied<Dtype::kI16>("i16", "16-bit integers, copied");
constinit const Codec kU16Codec = copied<Dtype::kU16>("u16", "16-bit integers, copied");
constinit const Codec kI32Codec = copied<Dtype::kI32>("i32", "32-bit integers, copied");
constinit const Codec kU32Codec = copied<Dtype::kU32>("u32", "32-bit integers, copied");
constinit const Codec kI64Codec = copied<Dtype::kI64>("i64", "64-bit integers, copied");
constinit const Codec kU64Codec = copied<Dtype::kU64>("u64", "64-bit integers, copied");
constinit const Codec kC64Codec = copied<Dtype::kC64>("c64", "complex numbers, copied");
constinit const Codec kF4Codec = copied<Dtype::kF4, 2>("f4", "4-bit floats, copied");
constinit const Codec kF6E2M3Codec = copied<Dtype::kF6E2M3, 4>("f6_e2m3", "6-bit floats, copied");
constinit const Codec kF6E3M2Codec = copied<Dtype::kF6E3M2, 4>("f6_e3m2", "6-bit floats, copied");
constinit const Codec kF8E4M3FnuzCodec =
    copied<Dtype::kF8E4M3Fnuz>("f8_e4m3fnuz", "8-bit floats without -0, copied");
constinit const Codec kF8E5M2FnuzCodec =
    copied<Dtype::kF8E5M2Fnuz>("f8_e5m2fnuz", "8-bit floats without -0, copied");

constinit const Codec kQ8_1Codec = copied<Dtype::kQ8_1, 32>("q8_1", "ggml block, copied");
constinit const Codec kQ8KCodec = copied<Dtype::kQ8K, 256>("q8_k", "ggml block, copied");
constinit const Codec kQ1_0Codec = copied<Dtype::kQ1_0, 128>("q1_0", "ggml block, copied");
constinit const Codec kQ2_0Codec = copied<Dtype::kQ2_0, 64>("q2_0", "ggml block, copied");

}  // namespace ckpt
