// Lists the codecs of all_codecs() by the file that defines them.
#pragma once

#include "core/model/codec.h"
#include "core/model/dtype.h"

namespace ckpt {

// The rule of a codec with one part, each element of which holds kValues adjacent values of a row.
template <Dtype kDtype, uint32_t kValues>
inline constexpr PartRule kOnePart[1] = {{"", kDtype, 1, kValues}};

// A codec with one part of elements of this type. Its functions are still to be set.
template <Dtype kDtype>
constexpr Codec one_part_codec(std::string_view help) {
  constexpr const DtypeInfo& kInfo = kDtypeInfos[static_cast<size_t>(kDtype)];
  Codec codec{};
  codec.name = kInfo.name;
  codec.help = help;
  codec.parts = kOnePart<kDtype, kInfo.values>;
  codec.band_rows = 1;
  codec.block_values = kInfo.values;
  codec.end = kInfo.end;
  return codec;
}

// The codecs in the order of lists.
// clang-format off
#define CKPT_CODECS(ROW) \
  /* plain/plain.cc: numbers that are floats */ \
  ROW(kF64Codec) ROW(kF32Codec) ROW(kF16Codec) ROW(kBf16Codec) ROW(kF8E4M3Codec) \
  ROW(kF8E5M2Codec) ROW(kF8E8M0Codec) \
  /* ggml/block/, ggml/k/ and ggml/codebook/iq4.cc */ \
  ROW(kQ8_0Codec) ROW(kQ6KCodec) ROW(kQ5KCodec) ROW(kQ5_0Codec) ROW(kQ5_1Codec) ROW(kQ4KCodec) \
  ROW(kQ4_0Codec) ROW(kQ4_1Codec) ROW(kQ3KCodec) ROW(kQ2KCodec) ROW(kIq4NlCodec) \
  ROW(kIq4XsCodec) \
  /* nvfp4/: blocks of ggml in fp4.cc; in several parts: checkpoint.cc, repack.cc */ \
  ROW(kMxfp4Codec) ROW(kNvfp4BlockCodec) ROW(kNvfp4ModeloptCodec) ROW(kNvfp4CtCodec) \
  ROW(kNvfp4GgufCodec) \
  /* fp8/scaled.cc, int4/packed_int4.cc, mx/mx_checkpoint.cc */ \
  ROW(kFp8TensorCodec) ROW(kFp8TensorVectorCodec) ROW(kFp8TensorCtCodec) ROW(kFp8ChannelCodec) \
  ROW(kFp8ChannelColumnCodec) ROW(kFp8ChannelCtCodec) ROW(kFp8BlockCodec) \
  ROW(kFp8BlockBf16Codec) ROW(kFp8BlockScaleCodec) ROW(kFp8SpreadCodec) ROW(kFp8BlockCtCodec) \
  ROW(kFp8RaggedCodec) ROW(kFp8RaggedBf16Codec) ROW(kInt4Group32Codec) ROW(kInt4Group128Codec) \
  ROW(kMxfp8Codec) ROW(kMxfp8E8m0Codec) ROW(kMxfp4CtCodec) ROW(kMxfp4ModeloptCodec) \
  /* plain/copied.cc: stored as they are, never decoded */ \
  ROW(kBoolCodec) ROW(kU8Codec) ROW(kI8Codec) ROW(kI16Codec) ROW(kU16Codec) ROW(kI32Codec) \
  ROW(kU32Codec) ROW(kI64Codec) ROW(kU64Codec) ROW(kC64Codec) ROW(kF4Codec) ROW(kF6E2M3Codec) \
  ROW(kF6E3M2Codec) ROW(kF8E4M3FnuzCodec) ROW(kF8E5M2FnuzCodec) ROW(kQ8_1Codec) ROW(kQ8KCodec) \
  /* ggml/codebook/ and ggml/ternary/ */ \
  ROW(kIq2XxsCodec) ROW(kIq2XsCodec) ROW(kIq2SCodec) ROW(kIq3XxsCodec) ROW(kIq3SCodec) \
  ROW(kIq1SCodec) ROW(kIq1MCodec) ROW(kTq1_0Codec) ROW(kTq2_0Codec) \
  /* plain/copied.cc */ \
  ROW(kQ1_0Codec) ROW(kQ2_0Codec) \
  /* nvfp4/stacked.cc */ \
  ROW(kNvfp4StackedCodec)
// clang-format on

#define CKPT_DECLARED(name) extern const Codec name;
CKPT_CODECS(CKPT_DECLARED)
#undef CKPT_DECLARED

}  // namespace ckpt
