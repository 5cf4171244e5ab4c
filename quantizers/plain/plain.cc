// Codecs of the plain floating-point types: one element per value, little-endian, no scales.
//
// f32 is copied bit for bit. f64 is decoded with one rounding to nearest even and not encoded.
// f16, bf16, f8_e4m3 and f8_e5m2 round as float_convert.h says; f8_e8m0 is only decoded.
//
// Note: finite values may overflow to Inf in f16 (from 65520 on) and bf16, so these two have an
// end; the f8 formats saturate instead. Elements may be at odd addresses, so every access uses
// memcpy.
#include <array>
#include <bit>
#include <cstring>

#include "core/model/float_convert.h"
#include "quantizers/codec_list.h"
#include "quantizers/plain/plain_simd.h"

namespace ckpt {
namespace {

static_assert(std::endian::native == std::endian::little, "elements in files are little-endian");

template <void (*kConvert)(const float*, uint64_t, std::byte*)>
void encode_all(ConstFloatRows rows, const EncodeContext&, Parts parts) {
  kConvert(rows.values.data(), rows.values.size(), parts[0].data());
}

template <void (*kConvert)(const std::byte*, uint64_t, float*)>
void decode_all(ConstParts parts, FloatRows rows) {
  kConvert(parts[0].data(), rows.values.size(), rows.values.data());
}

void encode_f32(ConstFloatRows rows, const EncodeContext&, Parts parts) {
  if (!rows.values.empty()) {
    std::memcpy(parts[0].data(), rows.values.data(), rows.values.size_bytes());
  }
}

void decode_f32(ConstParts parts, FloatRows rows) {
  if (!rows.values.empty()) {
    std::memcpy(rows.values.data(), parts[0].data(), rows.values.size_bytes());
  }
}

void decode_f64(ConstParts parts, FloatRows rows) {
  const std::byte* in = parts[0].data();
  for (float& value : rows.values) {
    double element;
    std::memcpy(&element, in, sizeof(element));
    value = static_cast<float>(element);
    in += sizeof(element);
  }
}

// Decodes by table look-up, as there are only 256 codes.
template <float (*kConvert)(uint8_t)>
void decode_bytes(ConstParts parts, FloatRows rows) {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = kConvert(static_cast<uint8_t>(i));
    return out;
  }();
  const std::byte* in = parts[0].data();
  for (float& value : rows.values) value = table[static_cast<size_t>(*in++)];
}

template <Dtype kDtype>
constexpr Codec float_codec(std::string_view help, decltype(Codec::decode) decode,
                            decltype(Codec::encode) encode = nullptr) {
  Codec codec = one_part_codec<kDtype>(help);
  codec.encode = encode;
  codec.decode = decode;
  return codec;
}

}  // namespace

constinit const Codec kF64Codec = float_codec<Dtype::kF64>("64-bit floats", decode_f64);
constinit const Codec kF32Codec = float_codec<Dtype::kF32>("32-bit floats", decode_f32, encode_f32);
constinit const Codec kF16Codec = float_codec<Dtype::kF16>(
    "16-bit floats (IEEE half)", decode_all<decode_f16>, encode_all<encode_f16>);
constinit const Codec kBf16Codec = float_codec<Dtype::kBF16>(
    "16-bit floats (bfloat16)", decode_all<decode_bf16>, encode_all<encode_bf16>);
constinit const Codec kF8E4M3Codec =
    float_codec<Dtype::kF8E4M3>("8-bit floats up to 448, without scales",
                                decode_all<decode_f8_e4m3>, encode_all<encode_f8_e4m3>);
constinit const Codec kF8E5M2Codec =
    float_codec<Dtype::kF8E5M2>("8-bit floats up to 57344, without scales",
                                decode_all<decode_f8_e5m2>, encode_all<encode_f8_e5m2>);
constinit const Codec kF8E8M0Codec =
    float_codec<Dtype::kF8E8M0>("powers of two, decoded only", decode_bytes<float_from_e8m0>);

}  // namespace ckpt
