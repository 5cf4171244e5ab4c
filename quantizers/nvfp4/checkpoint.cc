// NVFP4 as quantized checkpoints store it: E2M1 codes, an E4M3 scale per 16 values, a scale per
// tensor. 4.5 bits per value.
//
//                    nvfp4_modelopt              nvfp4_ct
//   X                U8 [N, K/2]                                     two codes per byte
//   X_packed                                     U8 [N, K/2]         the same bytes
//   X_scale          F8_E4M3 [N, K/16]           F8_E4M3 [N, K/16]   s
//   X_scale_2        F32 [] = A / 2688                               t, multiplies
//   X_global_scale                               F32 [1] = 2688 / A  g, divides
//   value            E2M1 (s t)                  E2M1 (s / g)
//
// A is the largest magnitude of the tensor, or of all tensors that servers join; 2688 = 6 x 448.
//   nvfp4_modelopt   s = E4M3(a / (6 t)), a the largest magnitude of the block
//                    s = E4M3((b / 6) M / (A / 6)) where a calibration stored b for each block
//   nvfp4_ct         s = E4M3(g bf16(a / 6)); g = bf16(2688 bf16(1 / A))
// Codes are the nearest E2M1 to value / (s t) and value / (s / g), ties to even.
// EncodeOptions::search changes s and, with four over six and best, also t = A / 1536, M = 256:
//   four over six    the better of b = a and b = 3/2 a, which scales the largest to 4; a if equal;
//                    with searches_alone as if A were the tensor's own
//   sweep, best      the best of all E4M3 codes
// Better means a smaller sum of squared errors, weighted by column weights if there are any. best
// with error feedback rounds as feedback.cc describes.
//
// Note: a GPU divides by a constant by multiplying with the reciprocal, and exports are made on
// GPUs, so that is the default. A block of zeros has s = 1, or 0.125 in nvfp4_ct, as has any block
// whose scale would round to 0. A stored b of 0 means 6. M is 448, or 256 if blocks are scaled to 4
// or 6. A tensor of zeros gets t = 1, because 0 would make its scales NaN.
// Sources: NVIDIA Model-Optimizer modelopt/torch/quantization/qtensor/nvfp4_tensor.py;
// compressed-tensors src/compressed_tensors/quantization/utils/helpers.py.
#include "quantizers/nvfp4/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/model/float_convert.h"
#include "quantizers/codec_list.h"
#include "quantizers/extreme_codes.h"
#include "quantizers/fp8/scaled.h"
#include "quantizers/nvfp4/bf16.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "quantizers/nvfp4/repack.h"
#include "quantizers/plain/plain_simd.h"

namespace ckpt {
namespace {

constexpr float kE2m1Largest = 6;
constexpr float kE4m3Largest = 448;
constexpr float kFourOverSixLargest = 256;
constexpr uint8_t kE4m3Eighth = 0x20;
constexpr uint64_t kPieceBlocks = 256;  // data between two kernels stays in the first-level cache

// Blocks [first, first + count) of the rows, with room for their scales as floats.
struct Piece {
  uint64_t first, count;
  uint64_t row_blocks;
  const float* values;
  std::byte* codes;
  std::byte* scales;
  float amax[kPieceBlocks];
  float divisors[kPieceBlocks];
};

template <class MakeScales>
void encode_pieces(ConstFloatRows rows, Parts parts, const MakeScales& make_scales) {
  const uint64_t blocks = rows.values.size() / kE2m1BlockValues;
  Piece piece;
  piece.row_blocks = rows.row_values / kE2m1BlockValues;
  for (piece.first = 0; piece.first < blocks; piece.first += piece.count) {
    piece.count = std::min(kPieceBlocks, blocks - piece.first);
    piece.values = rows.values.data() + piece.first * kE2m1BlockValues;
    piece.codes = parts[0].data() + piece.first * kE2m1BlockBytes;
    piece.scales = parts[1].data() + piece.first;
    make_scales(piece);
    pack_e2m1(piece.values, piece.count, piece.divisors, piece.codes);
  }
}

template <class ScaleOf>
void decode_pieces(ConstParts parts, FloatRows rows, const ScaleOf& scale_of) {
  const uint64_t blocks = rows.values.size() / kE2m1BlockValues;
  float scales[kPieceBlocks];
  for (uint64_t first = 0; first < blocks; first += kPieceBlocks) {
    const uint64_t count = std::min(kPieceBlocks, blocks - first);
    decode_f8_e4m3(parts[1].data() + first, count, scales);
    scale_of(scales, count);
    unpack_e2m1(parts[0].data() + first * kE2m1BlockBytes, count, scales,
                rows.values.data() + first * kE2m1BlockValues);
  }
}

float divide_by_constant(float value, float constant, const EncodeOptions& options) {
  return options.cpu_rounding ? value / constant : value * (1.0f / constant);
}

// ---- nvfp4_modelopt ----------------------------------------------------------------------------

// The scale of the block that holds the tensor's largest magnitude and maps it to 6.
float largest_scale(const EncodeContext& context) {
  const ScaleSearch search = context.options.search;
  const bool leaves_room = search == ScaleSearch::kFourOverSix ||
                           (search == ScaleSearch::kBest && context.block_amax.empty());
  return leaves_room ? kFourOverSixLargest : kE4m3Largest;
}

float modelopt_tensor_scale(const EncodeContext& context) {
  const float scale = divide_by_constant(context.stats.amax, kE2m1Largest * largest_scale(context),
                                         context.options);
  return scale > 0 ? scale : 1;
}

void set_scale(Piece& piece, uint64_t block, uint8_t code, float tensor_scale) {
  piece.scales[block] = static_cast<std::byte>(code);
  piece.divisors[block] = float_from_e4m3(code) * tensor_scale;
}

// The code for a block with the largest magnitude `amax`, as an exporter computes it from stored
// magnitudes of all blocks.
uint8_t stored_scale(float amax, const EncodeContext& context) {
  const EncodeOptions& options = context.options;
  const float most = divide_by_constant(context.stats.amax, kE2m1Largest, options);
  float scale = divide_by_constant(amax, kE2m1Largest, options);
  if (scale == 0) scale = 1;
  return e4m3_from_float(std::max(scale * largest_scale(context) / most, 0x1p-9f));
}

void scale_as_stored(Piece& piece, const EncodeContext& context, float tensor_scale) {
  for (uint64_t b = 0; b < piece.count; ++b) {
    set_scale(piece, b, stored_scale(context.block_amax[piece.first + b], context), tensor_scale);
  }
}

// Chooses between four and six by the error under the calibration's own rounding of scales. It
// divides where the export multiplies, so results differ if a scale is between two codes.
class FourOrSix {
 public:
  explicit FourOrSix(const EncodeContext& context) : options_(context.options) {
    const float amax = options_.searches_alone ? context.stats.own_amax : context.stats.amax;
    const float room = kE4m3Largest / kFourOverSixLargest;
    inverse_ = kE4m3Largest / divide_by_constant(amax * room, kE2m1Largest, options_);
  }
  // Whether mapping the block's largest magnitude to 4 is better than mapping it to 6.
  bool is_four_better(const E2m1Block& block, float amax) const {
    const float divisors[2] = {divisor(amax), divisor(1.5f * amax)};
    float errors[2];
    find_e2m1_errors(block, divisors, 2, errors);
    return errors[1] < errors[0];
  }

 private:
  float divisor(float amax) const {
    const float scale = divide_by_constant(amax, kE2m1Largest, options_) * inverse_;
    const float rounded = float_from_e4m3(e4m3_from_float(scale)) / inverse_;
    return rounded == 0 ? 1 : rounded;
  }
  const EncodeOptions& options_;
  float inverse_;
};

// Searches scales of blocks that have a value other than zero and only finite values.
void search_scales(Piece& piece, const EncodeContext& context, float tensor_scale) {
  static constexpr float kOnes[kE2m1BlockValues] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const bool four_or_six = context.options.search == ScaleSearch::kFourOverSix;
  const FourOrSix choosing(context);
  for (uint64_t b = 0; b < piece.count; ++b) {
    const float amax = piece.amax[b];
    E2m1Block block{piece.values + b * kE2m1BlockValues, kOnes};
    if (!context.column_weights.empty()) {
      const uint64_t column = (piece.first + b) % piece.row_blocks * kE2m1BlockValues;
      block.weights = context.column_weights.data() + column;
    }
    const bool is_ordinary = amax > 0 && std::isfinite(amax);
    if (four_or_six) {
      const bool four = is_ordinary && choosing.is_four_better(block, amax);
      set_scale(piece, b, stored_scale(four ? 1.5f * amax : amax, context), tensor_scale);
    } else if (is_ordinary) {
      set_scale(piece, b, best_nvfp4_scale(block, tensor_scale, amax), tensor_scale);
    }
  }
}

// Rounds rows run by run, then packs them with the resulting scales.
void encode_with_feedback(ConstFloatRows rows, const EncodeContext& context, float tensor_scale,
                          Parts parts) {
  const ErrorFeedback& feedback = *context.feedback;
  const uint64_t n = feedback.run_values, row_blocks = rows.row_values / kE2m1BlockValues;
  std::vector<float> values(rows.values.begin(), rows.values.end());
  for (uint64_t first = 0; first < rows.row_values; first += n) {
    fit_nvfp4_run({values.data() + first, rows.row_values,
                   parts[1].data() + first / kE2m1BlockValues, row_blocks, rows.rows()},
                  {feedback.factors.data() + first * n, feedback.weights.data() + first,
                   feedback.run_values, tensor_scale});
  }
  encode_pieces({values, rows.row_values}, parts, [&](Piece& piece) {
    decode_f8_e4m3(piece.scales, piece.count, piece.divisors);
    multiply_values(piece.divisors, piece.count, tensor_scale);
  });
}

void encode_modelopt(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  const float tensor_scale = modelopt_tensor_scale(context);
  std::memcpy(parts[2].data(), &tensor_scale, sizeof tensor_scale);
  const bool is_plain_best =
      context.options.search == ScaleSearch::kBest && context.block_amax.empty();
  if (is_plain_best && context.feedback != nullptr) {
    return encode_with_feedback(rows, context, tensor_scale, parts);
  }
  encode_pieces(rows, parts, [&](Piece& piece) {
    if (!context.block_amax.empty()) return scale_as_stored(piece, context, tensor_scale);
    find_block_amax(piece.values, piece.count, piece.amax);
    make_nvfp4_scales(piece.amax, piece.count, tensor_scale, piece.scales, piece.divisors);
    if (context.options.search != ScaleSearch::kNone) search_scales(piece, context, tensor_scale);
  });
}

bool encode_modelopt_bf16(std::span<const std::byte> values, const EncodeContext& context,
                          Parts parts) {
  if (context.options.search != ScaleSearch::kNone || !context.block_amax.empty()) return false;
  const float tensor_scale = modelopt_tensor_scale(context);
  std::memcpy(parts[2].data(), &tensor_scale, sizeof tensor_scale);
  return encode_nvfp4_bf16(values.data(), values.size() / sizeof(uint16_t) / kE2m1BlockValues,
                           tensor_scale, {parts[0].data(), parts[1].data()});
}

void decode_modelopt(ConstParts parts, FloatRows rows) {
  float tensor_scale;
  std::memcpy(&tensor_scale, parts[2].data(), sizeof tensor_scale);
  decode_pieces(parts, rows, [&](float* scales, uint64_t count) {
    multiply_values(scales, count, tensor_scale);
  });
}

// ---- nvfp4_ct ----------------------------------------------------------------------------------

float to_bf16(float value) { return float_from_bf16(bf16_from_float(value)); }

// Returns 1 if 2688 / A is not a number: for zeros, and for magnitudes below 2^-116.
float ct_global_scale(float amax) {
  const float scale = to_bf16(to_bf16(1.0f / amax) * (kE2m1Largest * kE4m3Largest));
  return std::isfinite(scale) ? scale : 1;
}

void scale_as_ct(Piece& piece, float global_scale) {
  for (uint64_t b = 0; b < piece.count; ++b) {
    uint8_t code = e4m3_from_float(global_scale * to_bf16(piece.amax[b] / kE2m1Largest));
    if (code == 0) code = kE4m3Eighth;
    piece.scales[b] = static_cast<std::byte>(code);
    piece.divisors[b] = float_from_e4m3(code) / global_scale;
  }
}

void encode_ct(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  const float global_scale = ct_global_scale(context.stats.amax);
  std::memcpy(parts[2].data(), &global_scale, sizeof global_scale);
  encode_pieces(rows, parts, [&](Piece& piece) {
    if (context.block_amax.empty()) {
      find_block_amax(piece.values, piece.count, piece.amax);
    } else {
      std::copy_n(context.block_amax.data() + piece.first, piece.count, piece.amax);
    }
    scale_as_ct(piece, global_scale);
  });
}

void decode_ct(ConstParts parts, FloatRows rows) {
  float global_scale;
  std::memcpy(&global_scale, parts[2].data(), sizeof global_scale);
  decode_pieces(parts, rows, [&](float* scales, uint64_t count) {
    divide_values(scales, count, {global_scale, false}, scales);
  });
}

constexpr PartRule kModeloptParts[] = {
    {"", Dtype::kU8, 1, 2}, {"_scale", Dtype::kF8E4M3, 1, 16}, {"_scale_2", Dtype::kF32, 0, 0}};
constexpr PartRule kCtParts[] = {{"_packed", Dtype::kU8, 1, 2},
                                 {"_scale", Dtype::kF8E4M3, 1, 16},
                                 {"_global_scale", Dtype::kF32, 0, 0, true}};

}  // namespace

constinit const Codec kNvfp4ModeloptCodec{
    .name = "nvfp4_modelopt",
    .help = "NVFP4 with a tensor scale (ModelOpt checkpoints); 4.5 bits a value",
    .scheme = Scheme::kNvfp4,
    .dialect = Dialect::kModelopt,
    .parts = kModeloptParts,
    .band_rows = 1,
    .block_values = kE2m1BlockValues,
    .needs_stats = true,
    .scan = scan_amax,
    .encode = encode_modelopt,
    .decode = decode_modelopt,
    .scan_bf16 = scan_bf16_amax,
    .encode_bf16 = encode_modelopt_bf16,
    .repacks = kNvfp4Unpack,
    .count_extreme = count_extreme_e2m1};

constinit const Codec kNvfp4CtCodec{
    .name = "nvfp4_ct",
    .help = "NVFP4 with a global scale that divides (compressed-tensors); 4.5 bits a value",
    .scheme = Scheme::kNvfp4,
    .dialect = Dialect::kCompressedTensors,
    .parts = kCtParts,
    .band_rows = 1,
    .block_values = kE2m1BlockValues,
    .needs_stats = true,
    .scan = scan_amax,
    .encode = encode_ct,
    .decode = decode_ct,
    .scan_bf16 = scan_bf16_amax,
    .count_extreme = count_extreme_e2m1};

}  // namespace ckpt
