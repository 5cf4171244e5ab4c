// The vector decoders against one number at a time, and their scalar twins, on every target.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/ggml/block/block_quants.h"
#include "quantizers/ggml/k/k_quants.h"
#include "quantizers/nvfp4/fp4.h"
#include "quantizers/plain/plain_simd.h"
#include "tests/quantizers/common.h"
#include "tests/support/weight_sets.h"

namespace ckpt {
namespace {

// Bits, since NaNs and zeros of both signs must be the same too.
std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> out(values.size());
  std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
  return out;
}

// ---- plain numbers ----------------------------------------------------------------------------

struct PlainFormat {
  const char* name;
  size_t element_bytes;
  void (*decode)(const std::byte*, uint64_t, float*);
  void (*encode)(const float*, uint64_t, std::byte*);
  float (*to_float)(uint32_t code);
  uint32_t (*from_float)(float value);
};

template <class Element, float (*kConvert)(Element)>
float to_float(uint32_t code) {
  return kConvert(static_cast<Element>(code));
}
template <class Element, Element (*kConvert)(float)>
uint32_t from_float(float value) {
  return kConvert(value);
}

constexpr PlainFormat kFormats[] = {
    {"bf16", 2, decode_bf16, encode_bf16, to_float<uint16_t, float_from_bf16>,
     from_float<uint16_t, bf16_from_float>},
    {"f16", 2, decode_f16, encode_f16, to_float<uint16_t, float_from_f16>,
     from_float<uint16_t, f16_from_float>},
    {"f8_e4m3", 1, decode_f8_e4m3, encode_f8_e4m3, to_float<uint8_t, float_from_e4m3>,
     from_float<uint8_t, e4m3_from_float>},
    {"f8_e5m2", 1, decode_f8_e5m2, encode_f8_e5m2, to_float<uint8_t, float_from_e5m2>,
     from_float<uint8_t, e5m2_from_float>},
};

class SimdPlain : public testing::TestWithParam<PlainFormat> {
 protected:
  void expect_same_codes(const std::vector<float>& values) {
    const PlainFormat& format = GetParam();
    std::vector<std::byte> expected;
    for (const float value : values) {
      const uint32_t code = format.from_float(value);
      for (size_t i = 0; i < format.element_bytes; ++i) {
        expected.push_back(static_cast<std::byte>(code >> 8 * i));
      }
    }
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      std::vector<std::byte> found(expected.size());
      format.encode(values.data(), values.size(), found.data());
      const auto at = std::mismatch(found.begin(), found.end(), expected.begin()).first;
      if (at == found.end()) continue;
      const auto i = static_cast<size_t>(at - found.begin()) / format.element_bytes;
      ADD_FAILURE() << simd_target_name(target) << ": " << std::hex
                    << std::bit_cast<uint32_t>(values[i]);
      return;
    }
  }
};

// Every code, from an odd address, and every count of numbers up to 200.
void expect_end_is_seen(float end, uint16_t good, const std::vector<uint16_t>& bad,
                        uint64_t count) {
  std::vector<uint16_t> codes(count, good);
  std::vector<float> values(count), expected(count);
  const auto bytes = [&] { return std::as_bytes(std::span(codes)).data(); };
  EXPECT_TRUE(decode_bf16_below(end, bytes(), count, values.data())) << end;
  for (const uint16_t code : bad) {
    for (uint64_t at = 0; at < count; ++at) {
      codes[at] = code;
      EXPECT_FALSE(decode_bf16_below(end, bytes(), count, values.data())) << end << " " << code;
      decode_bf16(bytes(), count, expected.data());
      EXPECT_EQ(bits_of(values), bits_of(expected));
      codes[at] = good;
    }
  }
}

// Every length of a last vector, and the number beyond at every place of it.
TEST(SimdBf16, NumbersBeyondAnEndAreSeenWhileBf16IsDecoded) {
  struct End {
    float end;
    uint16_t good;  // the largest number below, negative
    std::vector<uint16_t> bad;
  };
  const End kEnds[] = {{kNoEnd, 0xFF7F, {0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0xFFFF}},
                       {65520, 0xC77F, {0x4780, 0xC780, 0x7F7F, 0x7F80, 0xFFC0}},
                       {2784, 0xC52D, {0x452E, 0xC52E, 0xC52F, 0x7F80, 0x7FC0}}};
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    for (uint64_t count = 1; count < 40; ++count) {
      for (const End& each : kEnds) expect_end_is_seen(each.end, each.good, each.bad, count);
    }
  }
}

TEST_P(SimdPlain, DecodesEveryCode) {
  const PlainFormat& format = GetParam();
  const size_t codes = size_t{1} << 8 * format.element_bytes;
  std::vector<std::byte> bytes(1);
  std::vector<float> expected;
  for (uint32_t code = 0; code < codes; ++code) {
    for (size_t i = 0; i < format.element_bytes; ++i) {
      bytes.push_back(static_cast<std::byte>(code >> 8 * i));
    }
    expected.push_back(format.to_float(code));
  }
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    std::vector<float> found(codes);
    format.decode(bytes.data() + 1, codes, found.data());
    ASSERT_EQ(bits_of(found), bits_of(expected)) << simd_target_name(target);
    for (size_t count = 0; count <= 200; ++count) {
      std::vector<float> some(201, 7.0f);
      format.decode(bytes.data() + 1, count, some.data());
      ASSERT_EQ(std::memcmp(some.data(), expected.data(), count * sizeof(float)), 0) << count;
      ASSERT_EQ(some[count], 7.0f);
    }
  }
}

// The float of every code, those next to it and those between it and the next code.
TEST_P(SimdPlain, EncodesAboutEveryBoundary) {
  const PlainFormat& format = GetParam();
  std::vector<float> values;
  for (uint32_t code = 0; code + 1 < size_t{1} << 8 * format.element_bytes; ++code) {
    const auto low = std::bit_cast<uint32_t>(format.to_float(code));
    const auto high = std::bit_cast<uint32_t>(format.to_float(code + 1));
    const uint32_t middle = low + (high - low) / 2;
    for (const uint32_t bits : {low - 1, low, low + 1, middle - 1, middle, middle + 1}) {
      values.push_back(std::bit_cast<float>(bits));
    }
  }
  expect_same_codes(values);
}

// Every 37th of the 2^32 floats in a long run, every 1021st otherwise.
TEST_P(SimdPlain, EncodesFloatsOfEveryKind) {
  constexpr uint64_t kPiece = 1 << 20;
  const uint64_t step = is_long() ? 37 : 1021;
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32 && !HasFailure(); bits += step) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (values.size() < kPiece) continue;
    expect_same_codes(values);
    values.clear();
  }
  expect_same_codes(values);
}

TEST_P(SimdPlain, EncodesEveryCount) {
  Dice dice(3);
  std::vector<float> values;
  for (size_t count = 0; count <= 200 && !HasFailure(); ++count) {
    expect_same_codes(values);
    values.push_back(dice.normal());
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SimdPlain, testing::ValuesIn(kFormats),
                         [](const auto& each) { return std::string(each.param.name); });

// ---- blocks -----------------------------------------------------------------------------------

struct BlockDecoder {
  const char* name;
  size_t block_values, block_bytes;
  void (*decode)(const std::byte* in, uint64_t blocks, float* values);
  void (*scalar)(const std::byte* in, uint64_t blocks, float* values);
};

template <class Block, void (*kDecode)(const Block*, uint64_t, float*)>
void from_bytes(const std::byte* in, uint64_t blocks, float* values) {
  kDecode(reinterpret_cast<const Block*>(in), blocks, values);
}

// A tensor scale that rounds every product.
void decode_nvfp4_thirds(const BlockNvfp4* in, uint64_t blocks, float* values) {
  decode_nvfp4_scaled(in, blocks, 1.0f / 3, values);
}
void decode_nvfp4_thirds_scalar(const BlockNvfp4* in, uint64_t blocks, float* values) {
  decode_nvfp4_scaled_scalar(in, blocks, 1.0f / 3, values);
}

template <class Block, void (*kDecode)(const Block*, uint64_t, float*),
          void (*kScalar)(const Block*, uint64_t, float*)>
constexpr BlockDecoder block_decoder(const char* name) {
  return {name, Block::kValues, sizeof(Block), from_bytes<Block, kDecode>,
          from_bytes<Block, kScalar>};
}

constexpr BlockDecoder kDecoders[] = {
    block_decoder<BlockQ4_0, decode_q4_0, decode_q4_0_scalar>("q4_0"),
    block_decoder<BlockQ4_1, decode_q4_1, decode_q4_1_scalar>("q4_1"),
    block_decoder<BlockQ5_0, decode_q5_0, decode_q5_0_scalar>("q5_0"),
    block_decoder<BlockQ5_1, decode_q5_1, decode_q5_1_scalar>("q5_1"),
    block_decoder<BlockQ8_0, decode_q8_0, decode_q8_0_scalar>("q8_0"),
    block_decoder<BlockQ2K, decode_q2_k, decode_q2_k_scalar>("q2_k"),
    block_decoder<BlockQ3K, decode_q3_k, decode_q3_k_scalar>("q3_k"),
    block_decoder<BlockQ4K, decode_q4_k, decode_q4_k_scalar>("q4_k"),
    block_decoder<BlockQ5K, decode_q5_k, decode_q5_k_scalar>("q5_k"),
    block_decoder<BlockQ6K, decode_q6_k, decode_q6_k_scalar>("q6_k"),
    block_decoder<BlockMxfp4, decode_mxfp4, decode_mxfp4_scalar>("mxfp4"),
    block_decoder<BlockNvfp4, decode_nvfp4_block, decode_nvfp4_block_scalar>("nvfp4"),
    block_decoder<BlockNvfp4, decode_nvfp4_thirds, decode_nvfp4_thirds_scalar>("nvfp4_scaled"),
};

class SimdBlockDecoders : public testing::TestWithParam<BlockDecoder> {};

// Random bytes: every field takes every value, scales are Inf and NaN among others.
TEST_P(SimdBlockDecoders, EqualTheScalarTwinOnAnyBytes) {
  const BlockDecoder& type = GetParam();
  const size_t blocks = (is_long() ? 60'000'000 : 3'000'000) / type.block_values;
  std::vector<std::byte> bytes(blocks * type.block_bytes + 1);
  Dice dice(17);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice.bits());
  std::vector<float> expected(blocks * type.block_values);
  type.scalar(bytes.data() + 1, blocks, expected.data());
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    std::vector<float> found(expected.size());
    type.decode(bytes.data() + 1, blocks, found.data());
    size_t different = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      const auto bits = std::bit_cast<uint32_t>(found[i]);
      const bool both_nan = std::isnan(found[i]) && std::isnan(expected[i]);
      if (bits == std::bit_cast<uint32_t>(expected[i]) || both_nan) continue;
      ++different;
      ASSERT_LT(different, 1u) << simd_target_name(target) << " block " << i / type.block_values
                               << " value " << i % type.block_values;
    }
  }
}

TEST_P(SimdBlockDecoders, EqualTheScalarTwinForEveryBlockCount) {
  const BlockDecoder& type = GetParam();
  constexpr size_t kMost = 70;
  std::vector<std::byte> bytes(kMost * type.block_bytes, std::byte{0x35});
  Dice dice(19);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice.bits() & 0x7B);  // no NaN
  std::vector<float> expected(kMost * type.block_values);
  type.scalar(bytes.data(), kMost, expected.data());
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    for (size_t blocks = 0; blocks <= kMost; ++blocks) {
      const size_t count = blocks * type.block_values;
      std::vector<float> found(count + 16, 7.0f);
      type.decode(bytes.data(), blocks, found.data());
      ASSERT_EQ(std::memcmp(found.data(), expected.data(), count * sizeof(float)), 0)
          << simd_target_name(target) << " " << blocks << " blocks";
      for (size_t i = count; i < found.size(); ++i) ASSERT_EQ(found[i], 7.0f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SimdBlockDecoders, testing::ValuesIn(kDecoders),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ckpt
