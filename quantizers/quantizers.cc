#include "quantizers/quantizers.h"

#include "quantizers/codec_list.h"

namespace ckpt {
namespace {

constexpr const Codec* kAllCodecs[] = {
    &kF64Codec, &kF32Codec, &kF16Codec, &kBf16Codec, &kF8E4M3Codec, &kF8E5M2Codec, &kF8E8M0Codec,
    &kQ8_0Codec, &kQ6KCodec, &kQ5KCodec, &kQ5_0Codec, &kQ5_1Codec, &kQ4KCodec, &kQ4_0Codec,
    &kQ4_1Codec, &kQ3KCodec, &kQ2KCodec, &kIq4NlCodec, &kIq4XsCodec, &kMxfp4Codec,
    &kNvfp4BlockCodec, &kNvfp4ModeloptCodec, &kNvfp4CtCodec, &kFp8TensorCodec,
    &kFp8TensorVectorCodec, &kFp8TensorCtCodec, &kFp8ChannelCodec, &kFp8ChannelColumnCodec,
    &kFp8ChannelCtCodec, &kFp8BlockCodec, &kFp8BlockBf16Codec, &kFp8BlockScaleCodec,
    &kFp8BlockCtCodec, &kMxfp8Codec, &kMxfp8E8m0Codec, &kMxfp4CtCodec, &kMxfp4ModeloptCodec,
    &kBoolCodec, &kU8Codec, &kI8Codec, &kI16Codec, &kU16Codec, &kI32Codec, &kU32Codec, &kI64Codec,
    &kU64Codec, &kC64Codec, &kF4Codec, &kF6E2M3Codec, &kF6E3M2Codec, &kF8E4M3FnuzCodec,
    &kF8E5M2FnuzCodec, &kQ8_1Codec, &kQ8KCodec, &kIq2XxsCodec, &kIq2XsCodec, &kIq2SCodec,
    &kIq3XxsCodec, &kIq3SCodec, &kIq1SCodec, &kIq1MCodec, &kTq1_0Codec, &kTq2_0Codec, &kQ1_0Codec,
    &kQ2_0Codec,
};

}  // namespace

Codecs all_codecs() { return kAllCodecs; }

}  // namespace ckpt
