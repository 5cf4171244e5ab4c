// Size rules of the block types whose decoders follow.
#include "quantizers/codec_list.h"

namespace ckpt {

constinit const Codec kIq4NlCodec{
    .name = "iq4_nl", .help = "ggml block", .parts = kOnePart<Dtype::kIq4Nl, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kIq4XsCodec{
    .name = "iq4_xs", .help = "ggml block", .parts = kOnePart<Dtype::kIq4Xs, 256>, .band_rows = 1,
    .block_values = 256};
constinit const Codec kMxfp4Codec{
    .name = "mxfp4", .help = "ggml block", .parts = kOnePart<Dtype::kMxfp4, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kNvfp4BlockCodec{
    .name = "nvfp4", .help = "ggml block", .parts = kOnePart<Dtype::kNvfp4, 64>, .band_rows = 1,
    .block_values = 64};

}  // namespace ckpt
