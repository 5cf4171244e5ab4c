// Any floats encoded by any codec, with and without importances and searches, on every SIMD target.
//
// Laws: every target gives the bytes of the scalar twin; the shortcuts for bf16 give what encoding
// the decoded values gives.
#include <bit>
#include <cmath>

#include "fuzz/codec_parts.h"

namespace {

using namespace ckpt;
using namespace ckpt::fuzz;

struct EncodeChoice {
  bool is_weighted, is_bf16, has_blocks;
  EncodeOptions options;
};

EncodeChoice take_choice(Input& input) {
  const uint8_t bits = input.byte();
  EncodeOptions options;
  options.cpu_rounding = (bits & 1) != 0;
  options.search = static_cast<ScaleSearch>(bits >> 1 & 3);
  options.searches_alone = (bits & 8) != 0;
  return {(bits & 16) != 0, (bits & 32) != 0, (bits & 64) != 0, options};
}

std::vector<float> take_floats(size_t count, std::span<const uint8_t> pattern, bool is_bf16) {
  const ExactBytes bytes(count * sizeof(float), pattern);
  std::vector<float> values(count);
  if (count != 0) std::memcpy(values.data(), bytes.span().data(), count * sizeof(float));
  if (is_bf16) {
    for (float& value : values) {
      value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xFFFF0000u);
    }
  }
  return values;
}

// Values that an importance matrix may hold: finite, from 0 up.
std::vector<float> weights_of(const std::vector<float>& values, size_t count) {
  std::vector<float> weights(count);
  for (size_t i = 0; i < count; ++i) {
    const float value = std::fabs(values[values.size() - 1 - i % values.size()]);
    weights[i] = std::isfinite(value) ? value : 1.0f;
  }
  return weights;
}

struct Encoding {
  const CodecShape& shape;
  const std::vector<float>& values;
  EncodeContext context;

  ConstFloatRows rows() const { return {values, shape.row_values}; }
};

void expect_same_stats(const Stats& a, const Stats& b) {
  FUZZ_LAW(std::bit_cast<uint32_t>(a.amax) == std::bit_cast<uint32_t>(b.amax));
}

// The shortcut for bf16 in memory, where it takes the values.
void expect_same_shortcut(const Encoding& encoding, const ExactParts& expected) {
  const Codec& codec = *encoding.shape.codec;
  std::vector<uint16_t> codes;
  for (const float value : encoding.values) {
    codes.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  }
  const auto bytes = std::as_bytes(std::span(codes));
  if (codec.scan_bf16 != nullptr) {
    Stats stats, plain;
    codec.scan(encoding.rows(), plain);
    if (codec.scan_bf16(bytes, stats)) expect_same_stats(stats, plain);
  }
  if (codec.encode_bf16 == nullptr) return;
  const ExactParts found(encoding.shape, {});
  if (codec.encode_bf16(bytes, encoding.context, found.parts())) {
    FUZZ_LAW(are_same(found, expected));
  }
}

void encode_everywhere(Encoding& encoding, bool is_bf16) {
  const Codec& codec = *encoding.shape.codec;
  std::vector<ExactParts> outputs;
  std::vector<Stats> stats;
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    if (codec.scan != nullptr) {
      codec.scan(encoding.rows(), stats.emplace_back());
      expect_same_stats(stats.back(), stats.front());
      encoding.context.stats = stats.front();
      encoding.context.stats.own_amax = stats.front().amax;
    }
    const ExactParts& output = outputs.emplace_back(encoding.shape, std::span<const uint8_t>());
    codec.encode(encoding.rows(), encoding.context, output.parts());
    FUZZ_LAW(are_same(output, outputs.front()));
    if (is_bf16) expect_same_shortcut(encoding, output);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const CodecShape shape = take_shape(input);
  if (shape.codec->encode == nullptr) return 0;
  const EncodeChoice choice = take_choice(input);
  const std::vector<float> values = take_floats(shape.values(), input.rest(), choice.is_bf16);
  const std::vector<float> weights = weights_of(values, shape.row_values);
  constexpr uint64_t kBlockValues = 16;  // of NVFP4, which alone has them
  const uint64_t blocks = shape.values() / kBlockValues;
  const std::vector<float> block_amax = weights_of(values, blocks);
  Encoding encoding{shape, values, {}};
  encoding.context.options = choice.options;
  if (choice.is_weighted) encoding.context.column_weights = weights;
  if (choice.has_blocks) encoding.context.block_amax = block_amax;
  encode_everywhere(encoding, choice.is_bf16);
  return 0;
}
