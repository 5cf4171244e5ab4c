#include "quantizers/nvfp4/repack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "quantizers/codec_list.h"
#include "quantizers/fp8/scaled.h"
#include "quantizers/nvfp4/fp4.h"

namespace ckpt {
namespace {

constexpr uint64_t kBlockScales = 4;
constexpr uint8_t kE4m3Nan = 0x7F;  // above it: the sign bit

// The index of the first scale that is NaN or negative, or `count`.
uint64_t first_bad_scale(std::span<const std::byte> scales) {
  const auto bad = std::ranges::find_if(
      scales, [](std::byte scale) { return static_cast<uint8_t>(scale) >= kE4m3Nan; });
  return static_cast<uint64_t>(bad - scales.begin());
}

uint64_t move_rows(ConstParts from, uint64_t rows, uint64_t row_values, Parts to) {
  pack_nvfp4_blocks(from[0].data(), from[1].data(), rows * row_values / BlockNvfp4::kValues,
                    reinterpret_cast<BlockNvfp4*>(to[0].data()));
  const uint64_t row_scales = row_values / 16;
  return row_scales == 0 ? rows : first_bad_scale(from[1]) / row_scales;
}

constexpr std::string_view kRefused = "a block scale that is NaN or negative";

// Encodes as ModelOpt's codes and scales and then repacks them, so the result equals that of
// converting an exported folder.
class ModeloptParts {
 public:
  explicit ModeloptParts(uint64_t values) : codes_(values / 2), scales_(values / 16) {}

  std::array<std::span<std::byte>, 3> with(std::span<std::byte> tensor_scale) {
    return {codes_, scales_, tensor_scale};
  }
  void move_to(std::span<std::byte> blocks) const {
    pack_nvfp4_blocks(codes_.data(), scales_.data(), scales_.size() / kBlockScales,
                      reinterpret_cast<BlockNvfp4*>(blocks.data()));
  }

 private:
  std::vector<std::byte> codes_, scales_;
};

void encode_gguf(ConstFloatRows rows, const EncodeContext& context, Parts parts) {
  ModeloptParts made(rows.values.size());
  kNvfp4ModeloptCodec.encode(rows, context, made.with(parts[1]));
  made.move_to(parts[0]);
}

bool encode_gguf_bf16(std::span<const std::byte> values, const EncodeContext& context,
                      Parts parts) {
  ModeloptParts made(values.size() / 2);
  if (!kNvfp4ModeloptCodec.encode_bf16(values, context, made.with(parts[1]))) return false;
  made.move_to(parts[0]);
  return true;
}

void decode_gguf(ConstParts parts, FloatRows rows) {
  float tensor_scale;
  std::memcpy(&tensor_scale, parts[1].data(), sizeof tensor_scale);
  decode_nvfp4_scaled(reinterpret_cast<const BlockNvfp4*>(parts[0].data()),
                      rows.values.size() / BlockNvfp4::kValues, tensor_scale, rows.values.data());
}

constexpr PartRule kGgufParts[] = {{".weight", Dtype::kNvfp4, 1, BlockNvfp4::kValues},
                                   {".scale", Dtype::kF32, 0, 0, true}};

}  // namespace

constinit const Repack kNvfp4Repacks[2] = {{&kNvfp4ModeloptCodec, move_rows, kRefused},
                                           {&kNvfp4CtCodec, move_rows, kRefused}};

constinit const Codec kNvfp4GgufCodec{
    .name = "nvfp4_gguf",
    .help = "NVFP4 in ggml blocks with a tensor scale (GGUF, two tensors); 4.5 bits a value",
    .scheme = Scheme::kNvfp4,
    .dialect = Dialect::kGguf,
    .parts = kGgufParts,
    .band_rows = 1,
    .block_values = BlockNvfp4::kValues,
    .needs_stats = true,
    .scan = scan_amax,
    .encode = encode_gguf,
    .decode = decode_gguf,
    .scan_bf16 = scan_bf16_amax,
    .encode_bf16 = encode_gguf_bf16};

}  // namespace ckpt
