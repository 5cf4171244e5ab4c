// MXFP8 and MXFP4 as quantized checkpoints store them: 32 values share a power of two.
//
//                    mxfp8, mxfp8_e8m0       mxfp4_ct         mxfp4_modelopt
//   X                F8_E4M3 [N, K]                           U8 [N, K/2]
//   X_packed                                 U8 [N, K/2]
//   X_scale          [N, K/32] of bytes e: U8, but F8_E8M0 in mxfp8_e8m0
//   value            E4M3 2^(e - 127)        E2M1 2^(e - 127), two codes a byte, the first one low
//
// a is the largest magnitude of the 32 values:
//   mxfp8, mxfp4_modelopt   e - 127 = ceil(log2(a / 448)), in mxfp4_modelopt ceil(log2(a / 6))
//   mxfp4_ct                e - 127 = exponent of a, rounded up from 1.75 x 2^k on, minus 2
//
// Note: the last rule lets values leave the range of E2M1 (a = 1.7 needs 6.8), and they saturate.
// mxfp4_modelopt rounds ties towards zero and stores 0 as code 8 (-0). Exponents that do not fit
// are clamped to [0, 254]; 255 is NaN.
// Sources: NVIDIA Model-Optimizer modelopt/torch/quantization/qtensor/mxfp8_tensor.py and
// mxfp4_tensor.py; compressed-tensors src/compressed_tensors/quantization/utils/mxfp_utils.py.
#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "core/model/float_convert.h"
#include "quantizers/codec_list.h"
#include "quantizers/extreme_codes.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "quantizers/nvfp4/repack.h"
#include "quantizers/plain/plain_simd.h"

namespace ckpt {
namespace {

constexpr uint32_t kMxValues = 32;
constexpr uint64_t kPieceBlocks = 32;  // blocks of 32 values
constexpr uint64_t kPieceValues = kPieceBlocks * kMxValues;

// Returns the exponent byte of the power of two that a block is divided by.
using ExponentOf = uint8_t (*)(float amax);

// The smallest power of two that brings `amax` within `largest`, by an exact logarithm rounded to
// float: numbers a few units above a power of two have the same logarithm.
template <int kLargest>
uint8_t exponent_above(float amax) {
  const float ratio = amax / static_cast<float>(kLargest);
  if (!(ratio > 0)) return 0;
  const auto bits = std::bit_cast<uint32_t>(ratio);
  const bool is_normal = bits >= 0x00800000u && bits < 0x7F000000u;
  if (is_normal && (bits & 0x007FFFFFu) > 64) return static_cast<uint8_t>((bits >> 23) + 1);
  const auto logarithm = static_cast<float>(std::log2(static_cast<double>(ratio)));
  return static_cast<uint8_t>(std::clamp(std::ceil(logarithm), -127.0f, 127.0f) + 127);
}

uint8_t exponent_of_ct(float amax) {
  const uint32_t bits = std::bit_cast<uint32_t>(amax) + (1u << 21);
  const auto exponent = static_cast<int>(bits >> 23 & 0xFFu) - 2;
  return static_cast<uint8_t>(std::clamp(exponent, 0, 254));
}

// Computes the exponents of up to kPieceBlocks blocks.
void make_exponents(const float* values, uint64_t blocks, ExponentOf exponent_of,
                    std::byte* exponents) {
  float amax[2 * kPieceBlocks];
  find_block_amax(values, 2 * blocks, amax);
  for (uint64_t b = 0; b < blocks; ++b) {
    exponents[b] = static_cast<std::byte>(exponent_of(std::max(amax[2 * b], amax[2 * b + 1])));
  }
}

// Loads the powers of two of up to kPieceBlocks blocks, one per 16 values.
void load_scales(const std::byte* exponents, uint64_t blocks, float* scales) {
  for (uint64_t b = 0; b < blocks; ++b) {
    scales[2 * b] = float_from_e8m0(static_cast<uint8_t>(exponents[b]));
    scales[2 * b + 1] = scales[2 * b];
  }
}

// Calls work(first block, number of blocks) for pieces of up to kPieceBlocks.
template <class Work>
void for_each_piece(uint64_t values, const Work& work) {
  const uint64_t blocks = values / kMxValues;
  for (uint64_t first = 0; first < blocks; first += kPieceBlocks) {
    work(first, std::min(kPieceBlocks, blocks - first));
  }
}

// ---- MXFP8 -------------------------------------------------------------------------------------

void scale_block(const float* values, float factor, float* out) {
  for (uint32_t i = 0; i < kMxValues; ++i) out[i] = values[i] * factor;
}

void encode_mxfp8(ConstFloatRows rows, const EncodeContext&, Parts parts) {
  for_each_piece(rows.values.size(), [&](uint64_t first, uint64_t blocks) {
    const float* values = rows.values.data() + first * kMxValues;
    std::byte* exponents = parts[1].data() + first;
    make_exponents(values, blocks, exponent_above<448>, exponents);
    float scaled[kPieceValues];
    for (uint64_t b = 0; b < blocks; ++b) {
      const auto inverse = static_cast<uint8_t>(254 - static_cast<uint8_t>(exponents[b]));
      scale_block(values + b * kMxValues, float_from_e8m0(inverse), scaled + b * kMxValues);
    }
    encode_f8_e4m3(scaled, blocks * kMxValues, parts[0].data() + first * kMxValues);
  });
}

void decode_mxfp8(ConstParts parts, FloatRows rows) {
  for_each_piece(rows.values.size(), [&](uint64_t first, uint64_t blocks) {
    float* values = rows.values.data() + first * kMxValues;
    decode_f8_e4m3(parts[0].data() + first * kMxValues, blocks * kMxValues, values);
    for (uint64_t b = 0; b < blocks; ++b, values += kMxValues) {
      scale_block(values, float_from_e8m0(static_cast<uint8_t>(parts[1][first + b])), values);
    }
  });
}

// ---- MXFP4 -------------------------------------------------------------------------------------

void encode_mxfp4_ct(ConstFloatRows rows, const EncodeContext&, Parts parts) {
  for_each_piece(rows.values.size(), [&](uint64_t first, uint64_t blocks) {
    const float* values = rows.values.data() + first * kMxValues;
    std::byte* exponents = parts[1].data() + first;
    make_exponents(values, blocks, exponent_of_ct, exponents);
    float scales[2 * kPieceBlocks];
    load_scales(exponents, blocks, scales);
    pack_e2m1(values, 2 * blocks, scales, parts[0].data() + first * kMxValues / 2);
  });
}

// Returns the number of bounds below the magnitude. Only numbers above 0 have no sign bit.
uint32_t modelopt_code(float value) {
  const float magnitude = std::fabs(value);
  uint32_t code = value > 0 ? 0 : 8;
  for (const float bound : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f}) {
    code += magnitude > bound;
  }
  return code;
}

void encode_mxfp4_modelopt(ConstFloatRows rows, const EncodeContext&, Parts parts) {
  for_each_piece(rows.values.size(), [&](uint64_t first, uint64_t blocks) {
    const float* values = rows.values.data() + first * kMxValues;
    std::byte* exponents = parts[1].data() + first;
    std::byte* codes = parts[0].data() + first * kMxValues / 2;
    make_exponents(values, blocks, exponent_above<6>, exponents);
    for (uint64_t i = 0; i < blocks * kMxValues; i += 2) {
      const float scale = float_from_e8m0(static_cast<uint8_t>(exponents[i / kMxValues]));
      const uint32_t low = modelopt_code(values[i] / scale);
      codes[i / 2] = static_cast<std::byte>(low | modelopt_code(values[i + 1] / scale) << 4);
    }
  });
}

void decode_mxfp4(ConstParts parts, FloatRows rows) {
  for_each_piece(rows.values.size(), [&](uint64_t first, uint64_t blocks) {
    float scales[2 * kPieceBlocks];
    load_scales(parts[1].data() + first, blocks, scales);
    unpack_e2m1(parts[0].data() + first * kMxValues / 2, 2 * blocks, scales,
                rows.values.data() + first * kMxValues);
  });
}

template <Dtype kScale>
constexpr PartRule kMxfp8Parts[] = {{"", Dtype::kF8E4M3, 1, 1}, {"_scale", kScale, 1, kMxValues}};
constexpr PartRule kMxfp4CtParts[] = {{"_packed", Dtype::kU8, 1, 2},
                                      {"_scale", Dtype::kU8, 1, kMxValues}};
constexpr PartRule kMxfp4ModeloptParts[] = {{"", Dtype::kU8, 1, 2},
                                            {"_scale", Dtype::kU8, 1, kMxValues}};

template <Dtype kScale>
constexpr Codec mxfp8_codec(std::string_view name, std::string_view help, Dialect dialect) {
  return {.name = name,
          .help = help,
          .scheme = Scheme::kMxfp8,
          .dialect = dialect,
          .parts = kMxfp8Parts<kScale>,
          .band_rows = 1,
          .block_values = kMxValues,
          .encode = encode_mxfp8,
          .decode = decode_mxfp8,
          .count_extreme = count_extreme_e4m3};
}

}  // namespace

constinit const Codec kMxfp8Codec = mxfp8_codec<Dtype::kU8>(
    "mxfp8", "8-bit floats, 32 values a power of two; 8.25 bits a value", Dialect::kModelopt);
constinit const Codec kMxfp8E8m0Codec = mxfp8_codec<Dtype::kF8E8M0>(
    "mxfp8_e8m0", "mxfp8, its powers of two stored as F8_E8M0", Dialect::kOther);
constinit const Codec kMxfp4CtCodec{
    .name = "mxfp4_ct",
    .help = "MXFP4 in two parts (compressed-tensors); 4.25 bits a value",
    .scheme = Scheme::kMxfp4,
    .dialect = Dialect::kCompressedTensors,
    .parts = kMxfp4CtParts,
    .band_rows = 1,
    .block_values = kMxValues,
    .encode = encode_mxfp4_ct,
    .decode = decode_mxfp4,
    .repacks = kMxfp4Unpack,
    .count_extreme = count_extreme_e2m1};
constinit const Codec kMxfp4ModeloptCodec{
    .name = "mxfp4_modelopt",
    .help = "MXFP4 in two parts (ModelOpt); 4.25 bits a value",
    .scheme = Scheme::kMxfp4,
    .dialect = Dialect::kModelopt,
    .parts = kMxfp4ModeloptParts,
    .band_rows = 1,
    .block_values = kMxValues,
    .encode = encode_mxfp4_modelopt,
    .decode = decode_mxfp4,
    .count_extreme = count_extreme_e2m1};

}  // namespace ckpt
