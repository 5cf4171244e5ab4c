// Symmetric INT4 as compressed-tensors packs it, in groups of a row.
//
//   #packed   I32 [N, K/8]   value i of a word in bits 4i to 4i + 3, stored plus 8
//   #scale    BF16 [N, K/G]  value = (stored - 8) x scale
//
// Source: compressed-tensors src/compressed_tensors/compressors/pack_quantized. Note: no file has
// parts of these names. A third tensor, the shape, tells which tensors belong together, so the
// reader combines them.
#include <cstring>

#include "core/model/float_convert.h"
#include "quantizers/codec_list.h"

namespace ckpt {
namespace {

constexpr uint32_t kWordValues = 8;

template <uint32_t kGroup>
constexpr PartRule kPackedParts[] = {{"#packed", Dtype::kI32, 1, kWordValues},
                                     {"#scale", Dtype::kBF16, 1, kGroup}};

template <uint32_t kGroup>
void decode_packed(ConstParts parts, FloatRows rows) {
  for (uint64_t group = 0; group < rows.values.size() / kGroup; ++group) {
    uint16_t code;
    std::memcpy(&code, parts[1].data() + group * sizeof code, sizeof code);
    const float scale = float_from_bf16(code);
    float* out = rows.values.data() + group * kGroup;
    const std::byte* words = parts[0].data() + group * (kGroup / 2);
    for (uint32_t i = 0; i < kGroup; ++i) {
      const auto both = static_cast<uint32_t>(words[i / 2]);
      const auto stored = static_cast<int>(i % 2 == 0 ? both & 15 : both >> 4);
      out[i] = static_cast<float>(stored - 8) * scale;
    }
  }
}

template <uint32_t kGroup>
constexpr Codec packed_codec(std::string_view name, std::string_view help) {
  return {.name = name,
          .help = help,
          .scheme = Scheme::kPackedInt4,
          .parts = kPackedParts<kGroup>,
          .band_rows = 1,
          .block_values = kGroup,
          .decode = decode_packed<kGroup>};
}

}  // namespace

constinit const Codec kInt4Group32Codec =
    packed_codec<32>("int4_g32", "INT4 packed in words, 32 values a scale; 4.5 bits a value");
constinit const Codec kInt4Group128Codec =
    packed_codec<128>("int4_g128", "INT4 packed in words, 128 values a scale; 4.13 bits a value");

}  // namespace ckpt
