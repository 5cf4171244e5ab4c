// The codecs of FP8 checkpoints: shapes of scales, roundings and edges.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "quantizers/quantizers.h"
#include "tests/quantizers/common.h"
#include "tests/quantizers/parts.h"

namespace ckpt {
namespace {

float float_at(const PartBuffers& parts, size_t index) {
  const auto bytes = parts.bytes(1);
  float out = 0;
  std::memcpy(&out, bytes.data() + index * sizeof out, sizeof out);
  return out;
}

float bf16_at(const PartBuffers& parts, size_t index) {
  const auto bytes = parts.bytes(1);
  uint16_t code = 0;
  std::memcpy(&code, bytes.data() + index * sizeof code, sizeof code);
  return float_from_bf16(code);
}

std::vector<float> weights_of(uint64_t rows, uint64_t columns) {
  Random random(11);
  std::vector<float> out(rows * columns);
  for (uint64_t i = 0; i < out.size(); ++i) {
    out[i] = to_bf16(random.normal() * 0.02f * static_cast<float>(1 + i / columns % 5));
  }
  return out;
}

// Straight from bfloat16, whatever the count of values; Inf and NaN are left to the floats.
TEST(Fp8Tensor, Bf16GivesTheBytesOfFloats) {
  const std::vector<float> values = weights_of(3, 1000);
  std::vector<std::byte> bf16(values.size() * 2 + 1);
  const std::span<std::byte> bytes = std::span(bf16).subspan(1);
  const auto store = [&](size_t i, uint16_t code) {
    std::memcpy(bytes.data() + 2 * i, &code, sizeof code);
  };
  for (size_t i = 0; i < values.size(); ++i) store(i, bf16_from_float(values[i]));
  for (const char* name : {"fp8_tensor", "fp8_tensor_vector", "fp8_tensor_ct"}) {
    const Codec& codec = codec_named(name);
    for (const size_t count : {size_t{1}, size_t{1024}, size_t{1025}, values.size()}) {
      const std::vector<float> some(values.begin(), values.begin() + static_cast<long>(count));
      EncodeContext context;
      codec.scan({some, count}, context.stats);
      for (const bool cpu : {false, true}) {
        context.options.cpu_rounding = cpu;
        const PartBuffers expected = encode_with(codec, some, count, context);
        PartBuffers found(codec, 1, count);
        ASSERT_TRUE(codec.encode_bf16(bytes.first(2 * count), context, found.parts()));
        EXPECT_EQ(found.bytes(0), expected.bytes(0)) << name << " " << count;
        EXPECT_EQ(found.bytes(1), expected.bytes(1)) << name << " " << count;
      }
    }
    PartBuffers found(codec, 3, 1000);
    store(2999, 0x7F80);
    EXPECT_FALSE(codec.encode_bf16(bytes, {}, found.parts()));
    store(2999, bf16_from_float(values[2999]));
  }
}

// The rule of each rounding, value by value.
TEST(Fp8Tensor, RoundsAsGpuAndCpuDo) {
  const std::vector<float> values = weights_of(8, 256);
  const Codec& codec = codec_named("fp8_tensor");
  Stats stats;
  codec.scan({values, 256}, stats);
  int different = 0;
  for (const bool cpu : {false, true}) {
    const PartBuffers encoded =
        encode_with(codec, values, 256, EncodeContext{stats, {}, {.cpu_rounding = cpu}});
    const float scale = cpu ? stats.amax / 448.0f : stats.amax * (1.0f / 448.0f);
    EXPECT_EQ(float_at(encoded, 0), scale);
    const auto codes = encoded.bytes(0);
    for (size_t i = 0; i < values.size(); ++i) {
      const float divisor = cpu ? scale : to_bf16(scale);
      const uint8_t expected = e4m3_from_float(to_bf16(values[i] / divisor));
      ASSERT_EQ(codes[i], static_cast<std::byte>(expected)) << i;
      different += expected != e4m3_from_float(values[i] / scale);
    }
  }
  EXPECT_GT(different, 0);  // the roundings matter here
}

TEST(Fp8Channel, EachRowHasItsScale) {
  const std::vector<float> values = weights_of(5, 200);
  const PartBuffers f32 = encode_with(codec_named("fp8_channel"), values, 200, {});
  const PartBuffers column = encode_with(codec_named("fp8_channel_column"), values, 200, {});
  const PartBuffers bf16 = encode_with(codec_named("fp8_channel_ct"), values, 200, {});
  EXPECT_EQ(f32.bytes(0), column.bytes(0));
  EXPECT_EQ(f32.bytes(1), column.bytes(1));
  for (size_t row = 0; row < 5; ++row) {
    float amax = 0;
    for (size_t i = 0; i < 200; ++i) amax = std::max(amax, std::fabs(values[row * 200 + i]));
    EXPECT_EQ(float_at(f32, row), amax * (1.0f / 448.0f));
    EXPECT_EQ(bf16_at(bf16, row), to_bf16(amax / 448.0f));
    for (size_t i = row * 200; i < row * 200 + 200; ++i) {
      const float quotient = values[i] / float_at(f32, row);
      ASSERT_EQ(f32.bytes(0)[i], static_cast<std::byte>(e4m3_from_float(quotient)));
      const float rounded = to_bf16(values[i] / bf16_at(bf16, row));
      ASSERT_EQ(bf16.bytes(0)[i], static_cast<std::byte>(e4m3_from_float(rounded)));
    }
  }
}

// 300 rows of 256 values: 3 x 2 blocks, the last ones of 44 rows.
TEST(Fp8Block, BlocksHaveTheirScalesAndTheLastMayBeSmaller) {
  const std::vector<float> values = weights_of(300, 256);
  for (const char* name : {"fp8_block", "fp8_block_scale"}) {
    const Codec& codec = codec_named(name);
    const PartBuffers encoded = encode_with(codec, values, 256, {});
    ASSERT_EQ(encoded.bytes(1).size(), 6 * sizeof(float));
    std::vector<float> decoded(values.size());
    codec.decode(encoded.const_parts(), {decoded, 256});
    float largest[6] = {};
    for (size_t i = 0; i < values.size(); ++i) {
      float& amax = largest[i / 256 / 128 * 2 + i % 256 / 128];
      amax = std::max(amax, std::fabs(values[i]));
    }
    for (size_t block = 0; block < 6; ++block) {
      EXPECT_EQ(float_at(encoded, block), largest[block] * (1.0f / 448.0f)) << name << block;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = float_at(encoded, i / 256 / 128 * 2 + i % 256 / 128);
      const auto code = static_cast<uint8_t>(encoded.bytes(0)[i]);
      ASSERT_EQ(code, e4m3_from_float(values[i] / scale)) << name << " " << i;
      ASSERT_EQ(decoded[i], float_from_e4m3(code) * scale) << name << " " << i;
      if (i % 256 == 3) i += 250;  // bytes() copies; a few of each row are enough
    }
  }
}

TEST(Fp8, ZerosGetScaleOneAndTinyValuesAScaleThatIsANumber) {
  for (const char* name : {"fp8_tensor", "fp8_channel", "fp8_block"}) {
    const std::vector<float> zeros(256, 0.0f);
    const PartBuffers encoded = encode_with(codec_named(name), zeros, 128, {});
    EXPECT_EQ(float_at(encoded, 0), 448 * (1.0f / 448)) << name;
    const std::vector<float> tiny(256, 1e-44f);
    const PartBuffers of_tiny = encode_with(codec_named(name), tiny, 128, {{1e-44f}, {}});
    EXPECT_EQ(float_at(of_tiny, 0), std::numeric_limits<float>::min()) << name;
  }
}

// Rows and columns that are not whole blocks, like kv_a_proj in files of DeepSeek-V3.
TEST(Fp8Block, LastRowsAndColumnsMayBePartsOfABlock) {
  const Codec& codec = codec_named("fp8_block_ragged");
  constexpr uint64_t kRows = 130, kColumns = 300;
  PartBuffers parts(codec, kRows, kColumns);
  ASSERT_EQ(parts.bytes(1).size(), 2 * 3 * sizeof(float));
  for (std::byte& code : parts.parts()[0]) code = std::byte{0x38};  // 1
  for (uint32_t block = 0; block < 6; ++block) {
    const auto scale = static_cast<float>(block + 1);
    std::memcpy(parts.parts()[1].data() + block * sizeof scale, &scale, sizeof scale);
  }
  std::vector<float> values(kRows * kColumns);
  codec.decode(parts.const_parts(), {values, kColumns});
  for (uint64_t row = 0; row < kRows; ++row) {
    for (uint64_t column = 0; column < kColumns; ++column) {
      const auto expected = static_cast<float>(row / 128 * 3 + column / 128 + 1);
      ASSERT_EQ(values[row * kColumns + column], expected) << row << " " << column;
    }
  }
}

}  // namespace
}  // namespace ckpt
