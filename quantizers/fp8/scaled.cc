// 8-bit floats with scales, as quantized checkpoints store them: value = E4M3 s.
//
//   X                 F8_E4M3 [N, K]
//   its scale s       one per            shape              computed as
//   fp8_tensor        tensor             F32 []             A / 448       bf16(v / bf16(s))
//   fp8_tensor_ct     tensor             BF16 [1]           bf16(A / 448) bf16(v / s)
//   fp8_channel       row                F32 [N]            a / 448       v / s
//   fp8_channel_ct    row                BF16 [N, 1]        bf16(a / 448) bf16(v / s)
//   fp8_block*        128 rows x 128     [N/128, K/128]     as fp8_channel, fp8_channel_ct
//   fp8_block_spread                     F32 [N/128, 1, K/128, 1], [] for one block
//
// Scales are named X_scale, but X_scale_inv in fp8_block and fp8_block_bf16. The last column is
// what is rounded to E4M3; a and A are largest magnitudes.
//
// Note: "scale_inv" multiplies, like the others. fp8_tensor divides by a scale rounded to bfloat16
// but stores it unrounded, as a GPU does with a tensor and a number (with
// EncodeOptions::cpu_rounding: v / s, and A / 448 as a true division instead of a product). A
// magnitude of 0 counts as 448 (scale 1). The last rows of a tensor may form an incomplete block.
// Sources: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py; compressed-tensors
// src/compressed_tensors/quantization/utils/helpers.py; DeepSeek-V3 inference/kernel.py.
#include "quantizers/fp8/scaled.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/arithmetic.h"
#include "core/model/float_convert.h"
#include "quantizers/codec_list.h"
#include "quantizers/extreme_codes.h"
#include "quantizers/plain/plain_simd.h"

namespace ckpt {

void scan_amax(ConstFloatRows rows, Stats& stats) {
  stats.amax = std::max(stats.amax, largest_finite(rows.values.data(), rows.values.size()));
}

bool scan_bf16_amax(std::span<const std::byte> values, Stats& stats) {
  const uint16_t largest = largest_bf16(values.data(), values.size() / sizeof(uint16_t));
  if (largest >= 0x7F80) return false;
  stats.amax = std::max(stats.amax, float_from_bf16(largest));
  return true;
}

namespace {

constexpr float kLargest = 448;
constexpr uint32_t kTile = 128;
constexpr uint64_t kPieceValues = 1024;

float to_bf16(float value) { return float_from_bf16(bf16_from_float(value)); }

// Loads a scale from the bytes of a file.
template <Dtype kDtype>
float load_scale(const std::byte* in) {
  if constexpr (kDtype == Dtype::kBF16) {
    uint16_t code;
    std::memcpy(&code, in, sizeof code);
    return float_from_bf16(code);
  }
  float scale;
  std::memcpy(&scale, in, sizeof scale);
  return scale;
}

template <Dtype kDtype>
void store_scale(float scale, std::byte* out) {
  if constexpr (kDtype == Dtype::kBF16) {
    const uint16_t code = bf16_from_float(scale);
    std::memcpy(out, &code, sizeof code);
  } else {
    std::memcpy(out, &scale, sizeof scale);
  }
}

// The scale for values up to `amax`. Values are divided by it.
template <Dtype kDtype>
float make_scale(float amax, const EncodeOptions& options) {
  if (amax == 0) amax = kLargest;
  if constexpr (kDtype == Dtype::kBF16) {
    return std::max(to_bf16(amax / kLargest), std::numeric_limits<float>::min());
  }
  const float scale = options.cpu_rounding ? amax / kLargest : amax * (1.0f / kLargest);
  return std::max(scale, std::numeric_limits<float>::min());
}

void encode_run(const float* values, uint64_t count, Division division, std::byte* codes) {
  float quotients[kPieceValues];
  for (uint64_t i = 0; i < count; i += kPieceValues) {
    const uint64_t piece = std::min(kPieceValues, count - i);
    divide_values(values + i, piece, division, quotients);
    encode_f8_e4m3(quotients, piece, codes + i);
  }
}

void decode_run(const std::byte* codes, uint64_t count, float scale, float* values) {
  for (uint64_t i = 0; i < count; i += kPieceValues) {
    const uint64_t piece = std::min(kPieceValues, count - i);
    decode_f8_e4m3(codes + i, piece, values + i);
    multiply_values(values + i, piece, scale);
  }
}

// ---- one scale a tensor ------------------------------------------------------------------------

template <Dtype kDtype>
void encode_tensor(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  const float scale = make_scale<kDtype>(context.stats.amax, context.options);
  store_scale<kDtype>(scale, parts[1].data());
  const float divisor = context.options.cpu_rounding ? scale : to_bf16(scale);
  encode_run(rows.values.data(), rows.values.size(), {divisor, true}, parts[0].data());
}

// Encodes pieces that fit into the first-level cache.
template <Dtype kDtype>
bool encode_tensor_bf16(std::span<const std::byte> values, const EncodeContext& context,
                        Parts parts) {
  const uint64_t count = values.size() / sizeof(uint16_t);
  float floats[kPieceValues];
  for (uint64_t i = 0; i < count; i += kPieceValues) {
    const std::byte* piece = values.data() + i * sizeof(uint16_t);
    const uint64_t piece_values = std::min(kPieceValues, count - i);
    if (largest_bf16(piece, piece_values) >= 0x7F80) return false;
    decode_bf16(piece, piece_values, floats);
    const std::span<std::byte> part[] = {parts[0].subspan(i, piece_values), parts[1]};
    encode_tensor<kDtype>({std::span(floats).first(piece_values), piece_values}, context, part);
  }
  return true;
}

template <Dtype kDtype>
void decode_tensor(ConstParts parts, FloatRows rows) {
  decode_run(parts[0].data(), rows.values.size(), load_scale<kDtype>(parts[1].data()),
             rows.values.data());
}

// ---- one scale a row ---------------------------------------------------------------------------

template <Dtype kDtype>
void encode_channels(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  const float* values = rows.values.data();
  for (uint64_t row = 0; row < rows.rows(); ++row, values += rows.row_values) {
    const float amax = largest_finite(values, rows.row_values);
    const float scale = make_scale<kDtype>(amax, context.options);
    store_scale<kDtype>(scale, parts[1].data() + row * size_bytes(kDtype));
    encode_run(values, rows.row_values, {scale, kDtype == Dtype::kBF16},
               parts[0].data() + row * rows.row_values);
  }
}

template <Dtype kDtype>
void decode_channels(ConstParts parts, FloatRows rows) {
  for (uint64_t row = 0; row < rows.rows(); ++row) {
    const uint64_t at = row * rows.row_values;
    decode_run(parts[0].data() + at, rows.row_values,
               load_scale<kDtype>(parts[1].data() + row * size_bytes(kDtype)),
               rows.values.data() + at);
  }
}

// ---- one scale a block of 128 x 128 ------------------------------------------------------------

// Calls work(block, position of its first value, its number of rows) for each block.
template <class Work>
void for_each_block(uint64_t rows, uint64_t row_values, const Work& work) {
  uint64_t block = 0;
  for (uint64_t row = 0; row < rows; row += kTile) {
    for (uint64_t column = 0; column < row_values; column += kTile, ++block) {
      work(block, row * row_values + column, std::min<uint64_t>(kTile, rows - row));
    }
  }
}

template <Dtype kDtype>
void encode_blocks(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  const float* values = rows.values.data();
  const auto work = [&](uint64_t block, uint64_t first, uint64_t block_rows) {
    const uint64_t columns = std::min<uint64_t>(kTile, rows.row_values - first % rows.row_values);
    float amax = 0;
    for (uint64_t i = 0; i < block_rows; ++i) {
      amax = std::max(amax, largest_finite(values + first + i * rows.row_values, columns));
    }
    const float scale = make_scale<kDtype>(amax, context.options);
    store_scale<kDtype>(scale, parts[1].data() + block * size_bytes(kDtype));
    for (uint64_t i = 0; i < block_rows; ++i) {
      const uint64_t at = first + i * rows.row_values;
      encode_run(values + at, columns, {scale, kDtype == Dtype::kBF16}, parts[0].data() + at);
    }
  };
  for_each_block(rows.rows(), rows.row_values, work);
}

// Decodes row by row, in the order of memory. The last columns may form an incomplete block.
template <Dtype kDtype>
void decode_blocks(ConstParts parts, FloatRows rows) {
  const uint64_t row_blocks = divide_up(rows.row_values, kTile);
  for (uint64_t row = 0; row < rows.rows(); ++row) {
    float* values = rows.values.data() + row * rows.row_values;
    decode_f8_e4m3(parts[0].data() + row * rows.row_values, rows.row_values, values);
    for (uint64_t i = 0; i < row_blocks; ++i) {
      const uint64_t block = row / kTile * row_blocks + i;
      const float scale = load_scale<kDtype>(parts[1].data() + block * size_bytes(kDtype));
      multiply_values(values + i * kTile, std::min<uint64_t>(kTile, rows.row_values - i * kTile),
                      scale);
    }
  }
}

// ---- the codecs --------------------------------------------------------------------------------

template <Dtype kDtype, bool kIsVector>
constexpr PartRule kTensorParts[] = {{"", Dtype::kF8E4M3, 1, 1},
                                     {"_scale", kDtype, 0, 0, kIsVector}};
template <Dtype kDtype, bool kIsVector>
constexpr PartRule kChannelParts[] = {{"", Dtype::kF8E4M3, 1, 1},
                                      {"_scale", kDtype, 1, 0, kIsVector}};
constexpr char kScale[] = "_scale";
constexpr char kScaleInv[] = "_scale_inv";
template <Dtype kDtype, const char* kSuffix>
constexpr PartRule kBlockParts[] = {{"", Dtype::kF8E4M3, 1, 1}, {kSuffix, kDtype, kTile, kTile}};
constexpr PartRule kSpreadParts[] = {{"", Dtype::kF8E4M3, 1, 1},
                                     {kScale, Dtype::kF32, kTile, kTile, false, true}};

template <Dtype kDtype, bool kIsVector>
constexpr Codec tensor_codec(std::string_view name, std::string_view help,
                             Dialect dialect = Dialect::kOther) {
  return {.name = name,
          .help = help,
          .scheme = Scheme::kFp8Tensor,
          .dialect = dialect,
          .parts = kTensorParts<kDtype, kIsVector>,
          .band_rows = 1,
          .block_values = 1,
          .needs_stats = true,
          .scan = scan_amax,
          .encode = encode_tensor<kDtype>,
          .decode = decode_tensor<kDtype>,
          .scan_bf16 = scan_bf16_amax,
          .encode_bf16 = encode_tensor_bf16<kDtype>,
          .count_extreme = count_extreme_e4m3};
}

template <Dtype kDtype, bool kIsVector>
constexpr Codec channel_codec(std::string_view name, std::string_view help,
                              Dialect dialect = Dialect::kOther) {
  return {.name = name,
          .help = help,
          .scheme = Scheme::kFp8Channel,
          .dialect = dialect,
          .parts = kChannelParts<kDtype, kIsVector>,
          .band_rows = 1,
          .block_values = 1,
          .encode = encode_channels<kDtype>,
          .decode = decode_channels<kDtype>,
          .count_extreme = count_extreme_e4m3};
}

template <Dtype kDtype, const char* kSuffix>
constexpr Codec block_codec(std::string_view name, std::string_view help,
                            Dialect dialect = Dialect::kOther) {
  return {.name = name,
          .help = help,
          .scheme = Scheme::kFp8Block,
          .dialect = dialect,
          .parts = kBlockParts<kDtype, kSuffix>,
          .band_rows = kTile,
          .block_values = kTile,
          .decodes_any_rows = true,
          .encode = encode_blocks<kDtype>,
          .decode = decode_blocks<kDtype>,
          .count_extreme = count_extreme_e4m3};
}

// A codec whose last columns may form an incomplete block. It only reads such files.
template <Dtype kDtype, const char* kSuffix>
constexpr Codec ragged_codec(std::string_view name, std::string_view help) {
  Codec out = block_codec<kDtype, kSuffix>(name, help);
  out.block_values = 1;
  out.encode = nullptr;
  return out;
}

constexpr Codec spread_codec(std::string_view name, std::string_view help) {
  Codec out = block_codec<Dtype::kF32, kScale>(name, help, Dialect::kSpread);
  out.parts = kSpreadParts;
  out.block_values = 1;
  return out;
}

}  // namespace

constinit const Codec kFp8TensorCodec = tensor_codec<Dtype::kF32, false>(
    "fp8_tensor", "8-bit floats with a scale a tensor (ModelOpt)", Dialect::kModelopt);
constinit const Codec kFp8TensorVectorCodec = tensor_codec<Dtype::kF32, true>(
    "fp8_tensor_vector", "fp8_tensor, its scale written as a list of one", Dialect::kVector);
constinit const Codec kFp8TensorCtCodec = tensor_codec<Dtype::kBF16, true>(
    "fp8_tensor_ct", "8-bit floats with a bf16 scale a tensor (compressed-tensors)",
    Dialect::kCompressedTensors);
constinit const Codec kFp8ChannelCodec = channel_codec<Dtype::kF32, true>(
    "fp8_channel", "8-bit floats with a scale a row (ModelOpt)", Dialect::kModelopt);
constinit const Codec kFp8ChannelColumnCodec = channel_codec<Dtype::kF32, false>(
    "fp8_channel_column", "fp8_channel, its scales written as a matrix of one column");
constinit const Codec kFp8ChannelCtCodec = channel_codec<Dtype::kBF16, false>(
    "fp8_channel_ct", "8-bit floats with a bf16 scale a row (compressed-tensors)",
    Dialect::kCompressedTensors);
constinit const Codec kFp8BlockCodec = block_codec<Dtype::kF32, kScaleInv>(
    "fp8_block", "8-bit floats with a scale for 128 x 128 values (DeepSeek)");
constinit const Codec kFp8BlockBf16Codec = block_codec<Dtype::kBF16, kScaleInv>(
    "fp8_block_bf16", "8-bit floats with a bf16 scale for 128 x 128 values (Qwen)");
constinit const Codec kFp8BlockScaleCodec = block_codec<Dtype::kF32, kScale>(
    "fp8_block_scale", "fp8_block under ModelOpt's name of the scales", Dialect::kModelopt);
constinit const Codec kFp8BlockCtCodec = block_codec<Dtype::kBF16, kScale>(
    "fp8_block_ct", "fp8_block_bf16 under compressed-tensors' name of the scales",
    Dialect::kCompressedTensors);

constinit const Codec kFp8SpreadCodec = spread_codec(
    "fp8_block_spread", "fp8_block_scale as ModelOpt exports it: scales [N/128, 1, K/128, 1]");
constinit const Codec kFp8RaggedCodec = ragged_codec<Dtype::kF32, kScaleInv>(
    "fp8_block_ragged", "fp8_block, its last columns a part of a block");
constinit const Codec kFp8RaggedBf16Codec = ragged_codec<Dtype::kBF16, kScaleInv>(
    "fp8_block_bf16_ragged", "fp8_block_bf16, its last columns a part of a block");

}  // namespace ckpt
