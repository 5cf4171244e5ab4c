// INT4 packed in words: which bits a value has, and that groups have their own scales.
#include <gtest/gtest.h>

#include <cstring>

#include "quantizers/quantizers.h"
#include "tests/quantizers/parts.h"

namespace ckpt {
namespace {

TEST(PackedInt4, ValueIOfAWordIsInBits4i) {
  for (const uint64_t group : {32, 128}) {
    const Codec* codec = find_codec(all_codecs(), fmt::format("int4_g{}", group));
    ASSERT_NE(codec, nullptr);
    const uint64_t columns = 2 * group;
    PartBuffers parts(*codec, 2, columns);
    ASSERT_EQ(parts.bytes(0).size(), 2 * columns / 2);
    ASSERT_EQ(parts.bytes(1).size(), 2 * 2 * sizeof(uint16_t));
    for (size_t byte = 0; byte < 2 * columns / 2; ++byte) {  // values count up, modulo 16
      const size_t value = byte * 2;
      parts.parts()[0][byte] = std::byte(value % 16 + 16 * ((value + 1) % 16));
    }
    for (size_t scale = 0; scale < 4; ++scale) {
      const uint16_t code = bf16_from_float(static_cast<float>(1 << scale));
      std::memcpy(parts.parts()[1].data() + scale * sizeof code, &code, sizeof code);
    }
    std::vector<float> values(2 * columns);
    codec->decode(parts.const_parts(), {values, columns});
    for (size_t i = 0; i < values.size(); ++i) {
      const float expected = (static_cast<float>(i % 16) - 8) * static_cast<float>(1 << i / group);
      ASSERT_EQ(values[i], expected) << group << " " << i;
    }
  }
}

}  // namespace
}  // namespace ckpt
