// The codecs that all_codecs() lists, by the file that defines them.
#pragma once

#include "core/model/codec.h"

namespace ckpt {

// The rule of a codec with one part whose elements stand for kValues neighbors of a row each.
template <Dtype kDtype, uint32_t kValues>
inline constexpr PartRule kOnePart[1] = {{"", kDtype, 1, kValues}};

// plain.cc: numbers that are floats
extern const Codec kF64Codec, kF32Codec, kF16Codec, kBf16Codec;
extern const Codec kF8E4M3Codec, kF8E5M2Codec, kF8E8M0Codec;

// copied.cc: stored as they are, never decoded
extern const Codec kBoolCodec, kU8Codec, kI8Codec, kI16Codec, kU16Codec, kI32Codec, kU32Codec;
extern const Codec kI64Codec, kU64Codec, kC64Codec;
extern const Codec kF4Codec, kF6E2M3Codec, kF6E3M2Codec, kF8E4M3FnuzCodec, kF8E5M2FnuzCodec;
extern const Codec kQ8_1Codec, kQ8KCodec, kQ1_0Codec, kQ2_0Codec;

// q4_q5.cc, q8_0.cc
extern const Codec kQ4_0Codec, kQ4_1Codec, kQ5_0Codec, kQ5_1Codec, kQ8_0Codec;
// q2_k.cc, q3_k.cc, q4_k_q5_k.cc, q6_k.cc
extern const Codec kQ2KCodec, kQ3KCodec, kQ4KCodec, kQ5KCodec, kQ6KCodec;
// iq4.cc, fp4.cc
extern const Codec kIq4NlCodec, kIq4XsCodec, kMxfp4Codec, kNvfp4BlockCodec;
// iq1.cc, iq2.cc, iq3.cc, tq.cc
extern const Codec kIq1SCodec, kIq1MCodec, kIq2XxsCodec, kIq2XsCodec, kIq2SCodec;
extern const Codec kIq3XxsCodec, kIq3SCodec, kTq1_0Codec, kTq2_0Codec;

// Of quantized checkpoints, in several parts: checkpoint.cc of nvfp4/, scaled.cc and
// mx_checkpoint.cc
extern const Codec kNvfp4ModeloptCodec, kNvfp4CtCodec;
extern const Codec kNvfp4GgufCodec;     // repack.cc
extern const Codec kNvfp4StackedCodec;  // stacked.cc
extern const Codec kFp8TensorCodec, kFp8TensorVectorCodec, kFp8TensorCtCodec;
extern const Codec kFp8ChannelCodec, kFp8ChannelColumnCodec, kFp8ChannelCtCodec;
extern const Codec kFp8BlockCodec, kFp8BlockBf16Codec, kFp8BlockScaleCodec, kFp8BlockCtCodec,
    kFp8SpreadCodec;
extern const Codec kInt4Group32Codec, kInt4Group128Codec;  // packed_int4.cc
extern const Codec kFp8RaggedCodec, kFp8RaggedBf16Codec;
extern const Codec kMxfp8Codec, kMxfp8E8m0Codec, kMxfp4CtCodec, kMxfp4ModeloptCodec;

}  // namespace ckpt
