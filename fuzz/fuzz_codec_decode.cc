// Any bytes decoded by any codec, and moved to the codecs that take them over, on every SIMD
// target.
//
// Law: every target gives the bits of the scalar twin; of a NaN times a NaN, which the compiler may
// swap, any NaN.
#include <bit>
#include <cmath>

#include "fuzz/codec_parts.h"

namespace {

using namespace ckpt;
using namespace ckpt::fuzz;

std::vector<float> decode(const CodecShape& shape, const ExactParts& parts) {
  std::vector<float> values(shape.values());
  shape.codec->decode(parts.const_parts(), {values, shape.row_values});
  return values;
}

bool is_same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void decode_everywhere(const CodecShape& shape, const ExactParts& parts) {
  std::vector<float> expected;
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    const std::vector<float> found = decode(shape, parts);
    if (target == SimdTarget::kScalar) expected = found;
    for (size_t i = 0; i < found.size(); ++i) FUZZ_LAW(is_same(found[i], expected[i]));
  }
}

void repack_everywhere(const CodecShape& shape, const ExactParts& parts) {
  for (const Codec* to : all_codecs()) {
    const Repack* repack = find_repack(*shape.codec, *to);
    if (repack == nullptr || shape.row_values % to->block_values != 0) continue;
    const CodecShape made{to, shape.rows, shape.row_values};
    std::vector<ExactParts> outputs;
    std::vector<uint64_t> refused;
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      const ExactParts& output = outputs.emplace_back(made, std::span<const uint8_t>());
      refused.push_back(
          repack->move(parts.const_parts(), shape.rows, shape.row_values, output.parts()));
      FUZZ_LAW(refused.back() == refused.front() && refused.back() <= shape.rows);
      FUZZ_LAW(are_same(output, outputs.front()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const CodecShape shape = take_shape(input);
  const Codec& codec = *shape.codec;
  const ExactParts parts(shape, input.rest());
  if (codec.decode != nullptr) decode_everywhere(shape, parts);
  repack_everywhere(shape, parts);
  if (codec.count_extreme != nullptr) {
    FUZZ_LAW(codec.count_extreme(parts.const_parts(), shape.values()) <= shape.values());
  }
  if (codec.first_overflow != nullptr) {
    FUZZ_LAW(codec.first_overflow(parts.const_parts(), shape.rows, shape.row_values) <= shape.rows);
  }
  return 0;
}
