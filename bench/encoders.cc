#include "bench/encoders.h"

#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

template <class Block, void (*kEncode)(const float*, uint64_t, Block*)>
void plain(ConstFloatRows rows, std::span<const float>, std::byte* out) {
  kEncode(rows.values.data(), rows.values.size() / Block::kValues, reinterpret_cast<Block*>(out));
}

template <class Block, void (*kEncode)(ConstFloatRows, std::span<const float>, Block*)>
void weighted(ConstFloatRows rows, std::span<const float> weights, std::byte* out) {
  kEncode(rows, weights, reinterpret_cast<Block*>(out));
}

template <class Block, void (*kEncode)(const float*, uint64_t, Block*),
          void (*kScalar)(const float*, uint64_t, Block*)>
constexpr Encoder plain_row(std::string_view name, int ggml_type) {
  return {name,
          ggml_type,
          Block::kValues,
          sizeof(Block),
          false,
          plain<Block, kEncode>,
          plain<Block, kScalar>};
}

template <class Block, void (*kEncode)(ConstFloatRows, std::span<const float>, Block*),
          void (*kScalar)(ConstFloatRows, std::span<const float>, Block*)>
constexpr Encoder weighted_row(std::string_view name, int ggml_type) {
  return {name,
          ggml_type,
          Block::kValues,
          sizeof(Block),
          true,
          weighted<Block, kEncode>,
          weighted<Block, kScalar>};
}

// A type of one part, with column weights, which ggml asks for below three bits.
template <Dtype kType>
void codebook_rows(ConstFloatRows rows, std::span<const float> weights, std::byte* out) {
  constexpr DtypeInfo kInfo = kDtypeInfos[static_cast<size_t>(kType)];
  const Codec& codec = *find_codec(all_codecs(), kInfo.name);
  const std::span part(out, rows.values.size() / kInfo.values * kInfo.size_bytes);
  codec.encode(rows, {.stats = {}, .column_weights = weights}, {&part, 1});
}

template <Dtype kType>
void codebook_rows_scalar(ConstFloatRows rows, std::span<const float> weights, std::byte* out) {
  const ForcedSimdTarget forced(SimdTarget::kScalar);
  codebook_rows<kType>(rows, weights, out);
}

template <Dtype kType>
constexpr Encoder codebook_row() {
  constexpr DtypeInfo kInfo = kDtypeInfos[static_cast<size_t>(kType)];
  return {kInfo.name,
          kInfo.ggml_type,
          kInfo.values,
          kInfo.size_bytes,
          true,
          codebook_rows<kType>,
          codebook_rows_scalar<kType>};
}

// A codec of several parts: scanned where it needs that, then encoded, the parts one after the
// other. Rows of 1024 values leave room for any scales.
template <const char* kName, ScaleSearch kSearch>
void parts_of(ConstFloatRows rows, std::span<const float>, std::byte* out) {
  const Codec& codec = *find_codec(all_codecs(), kName);
  EncodeContext context;
  context.options.search = kSearch;
  if (codec.needs_stats) codec.scan(rows, context.stats);
  std::vector<std::span<std::byte>> parts;
  for (const PartRule& rule : codec.parts) {
    parts.emplace_back(out, part_shape(rule, rows.rows(), rows.row_values).size_bytes);
    out += parts.back().size();
  }
  codec.encode(rows, context, parts);
}

template <const char* kName, ScaleSearch kSearch>
void parts_of_scalar(ConstFloatRows rows, std::span<const float> weights, std::byte* out) {
  const ForcedSimdTarget forced(SimdTarget::kScalar);
  parts_of<kName, kSearch>(rows, weights, out);
}

template <const char* kName, ScaleSearch kSearch = ScaleSearch::kNone>
constexpr Encoder parts_row(std::string_view name) {
  return {name,
          Encoder::kNoPeer,
          1024,
          1024 + 64,
          false,
          parts_of<kName, kSearch>,
          parts_of_scalar<kName, kSearch>};
}

constexpr char kNvfp4[] = "nvfp4_modelopt";
constexpr char kNvfp4Ct[] = "nvfp4_ct";
constexpr char kFp8Tensor[] = "fp8_tensor";
constexpr char kFp8Block[] = "fp8_block";
constexpr char kMxfp8[] = "mxfp8";
constexpr char kMxfp4[] = "mxfp4_ct";

constexpr Encoder kEncoders[] = {
    plain_row<BlockQ4_0, encode_q4_0, encode_q4_0_scalar>("q4_0", 2),
    plain_row<BlockQ4_1, encode_q4_1, encode_q4_1_scalar>("q4_1", 3),
    plain_row<BlockQ5_0, encode_q5_0, encode_q5_0_scalar>("q5_0", 6),
    plain_row<BlockQ5_1, encode_q5_1, encode_q5_1_scalar>("q5_1", 7),
    plain_row<BlockQ8_0, encode_q8_0, encode_q8_0_scalar>("q8_0", 8),
    plain_row<BlockQ2K, encode_q2_k, encode_q2_k_scalar>("q2_k", 10),
    plain_row<BlockQ3K, encode_q3_k, encode_q3_k_scalar>("q3_k", 11),
    plain_row<BlockQ4K, encode_q4_k, encode_q4_k_scalar>("q4_k", 12),
    plain_row<BlockQ5K, encode_q5_k, encode_q5_k_scalar>("q5_k", 13),
    plain_row<BlockQ6K, encode_q6_k, encode_q6_k_scalar>("q6_k", 14),
    weighted_row<BlockQ4_0, encode_q4_0_weighted, encode_q4_0_weighted_scalar>("q4_0 weighted", 2),
    weighted_row<BlockQ4_1, encode_q4_1_weighted, encode_q4_1_weighted_scalar>("q4_1 weighted", 3),
    weighted_row<BlockQ5_0, encode_q5_0_weighted, encode_q5_0_weighted_scalar>("q5_0 weighted", 6),
    weighted_row<BlockQ5_1, encode_q5_1_weighted, encode_q5_1_weighted_scalar>("q5_1 weighted", 7),
    weighted_row<BlockQ2K, encode_q2_k_weighted, encode_q2_k_weighted_scalar>("q2_k weighted", 10),
    weighted_row<BlockQ3K, encode_q3_k_weighted, encode_q3_k_weighted_scalar>("q3_k weighted", 11),
    weighted_row<BlockQ4K, encode_q4_k_weighted, encode_q4_k_weighted_scalar>("q4_k weighted", 12),
    weighted_row<BlockQ5K, encode_q5_k_weighted, encode_q5_k_weighted_scalar>("q5_k weighted", 13),
    weighted_row<BlockQ6K, encode_q6_k_weighted, encode_q6_k_weighted_scalar>("q6_k weighted", 14),
    codebook_row<Dtype::kIq1S>(),
    codebook_row<Dtype::kIq1M>(),
    codebook_row<Dtype::kIq2Xxs>(),
    codebook_row<Dtype::kIq2Xs>(),
    codebook_row<Dtype::kIq2S>(),
    codebook_row<Dtype::kIq3Xxs>(),
    codebook_row<Dtype::kIq3S>(),
    codebook_row<Dtype::kIq4Nl>(),
    codebook_row<Dtype::kIq4Xs>(),
    parts_row<kNvfp4>("nvfp4_modelopt"),
    parts_row<kNvfp4, ScaleSearch::kFourOverSix>("nvfp4 4/6"),
    parts_row<kNvfp4, ScaleSearch::kSweep>("nvfp4 sweep"),
    parts_row<kNvfp4Ct>("nvfp4_ct"),
    parts_row<kFp8Tensor>("fp8_tensor"),
    parts_row<kFp8Block>("fp8_block"),
    parts_row<kMxfp8>("mxfp8"),
    parts_row<kMxfp4>("mxfp4_ct"),
};

}  // namespace

std::span<const Encoder> all_encoders() { return kEncoders; }

}  // namespace ckpt
