// Size rules of the block types whose encoders follow.
#include "quantizers/codec_list.h"

namespace ckpt {

constinit const Codec kQ4_0Codec{
    .name = "q4_0", .help = "ggml block", .parts = kOnePart<Dtype::kQ4_0, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kQ4_1Codec{
    .name = "q4_1", .help = "ggml block", .parts = kOnePart<Dtype::kQ4_1, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kQ5_0Codec{
    .name = "q5_0", .help = "ggml block", .parts = kOnePart<Dtype::kQ5_0, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kQ5_1Codec{
    .name = "q5_1", .help = "ggml block", .parts = kOnePart<Dtype::kQ5_1, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kQ8_0Codec{
    .name = "q8_0", .help = "ggml block", .parts = kOnePart<Dtype::kQ8_0, 32>, .band_rows = 1,
    .block_values = 32};
constinit const Codec kQ2KCodec{
    .name = "q2_k", .help = "ggml block", .parts = kOnePart<Dtype::kQ2K, 256>, .band_rows = 1,
    .block_values = 256};
constinit const Codec kQ3KCodec{
    .name = "q3_k", .help = "ggml block", .parts = kOnePart<Dtype::kQ3K, 256>, .band_rows = 1,
    .block_values = 256};
constinit const Codec kQ4KCodec{
    .name = "q4_k", .help = "ggml block", .parts = kOnePart<Dtype::kQ4K, 256>, .band_rows = 1,
    .block_values = 256};
constinit const Codec kQ5KCodec{
    .name = "q5_k", .help = "ggml block", .parts = kOnePart<Dtype::kQ5K, 256>, .band_rows = 1,
    .block_values = 256};
constinit const Codec kQ6KCodec{
    .name = "q6_k", .help = "ggml block", .parts = kOnePart<Dtype::kQ6K, 256>, .band_rows = 1,
    .block_values = 256};
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
