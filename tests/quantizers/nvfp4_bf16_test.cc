// NVFP4 straight from bfloat16: the same bytes as through floats, on every target.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/fp8/scaled.h"
#include "quantizers/nvfp4/bf16.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "quantizers/quantizers.h"
#include "tests/quantizers/parts.h"

namespace ckpt {
namespace {

constexpr uint64_t kFp4Block = kE2m1BlockValues;

// UnalignedBytes at an odd address.
struct UnalignedBytes {
  explicit UnalignedBytes(const std::vector<uint16_t>& codes) : memory(codes.size() * 2 + 1) {
    if (!codes.empty()) std::memcpy(memory.data() + 1, codes.data(), codes.size() * 2);
  }
  std::span<const std::byte> span() const { return std::span(memory).subspan(1); }
  std::vector<std::byte> memory;
};

struct EncodedBf16 {
  bool is_finite;
  std::vector<std::byte> codes, scales;  // with 64 bytes behind them that must stay 0
};

using Function = bool(const std::byte*, uint64_t, float, Nvfp4Out);
EncodedBf16 encode(Function* function, const std::vector<uint16_t>& values, float tensor_scale) {
  const uint64_t blocks = values.size() / kFp4Block;
  EncodedBf16 out{true, std::vector<std::byte>(blocks * kE2m1BlockBytes + 65),
                  std::vector<std::byte>(blocks + 65)};
  const UnalignedBytes in(values);
  out.is_finite = function(in.span().data(), blocks, tensor_scale,
                           {out.codes.data() + 1, out.scales.data() + 1});
  return out;
}

void expect_same(const std::vector<uint16_t>& values, float tensor_scale, const char* what) {
  const EncodedBf16 expected = encode(encode_nvfp4_bf16_scalar, values, tensor_scale);
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    const EncodedBf16 found = encode(encode_nvfp4_bf16, values, tensor_scale);
    ASSERT_EQ(found.is_finite, expected.is_finite) << what << ", " << simd_target_name(target);
    if (!expected.is_finite) continue;
    ASSERT_TRUE(found.scales == expected.scales)
        << what << ", scales, " << simd_target_name(target) << ", " << tensor_scale;
    ASSERT_TRUE(found.codes == expected.codes)
        << what << ", codes, " << simd_target_name(target) << ", " << tensor_scale;
  }
}

TEST(SimdNvfp4Bf16, EveryMagnitudeBelowEveryLargestOne) {
  std::mt19937 dice(1);
  for (int round = 0; round < 40; ++round) {
    // Powers of two put bounds on bfloat16s, so that ties come up; other scales put them nearby.
    const float mantissa = round % 2 == 0 ? 1.0f : 1.0f + static_cast<float>(dice() % 4096) / 4096;
    const float tensor_scale = std::ldexp(mantissa, static_cast<int>(dice() % 60) - 50);
    const uint16_t base = bf16_from_float(tensor_scale * 100);
    std::vector<uint16_t> values;
    for (uint16_t largest = base; largest < base + 128; ++largest) {
      for (uint16_t less = 0; less < 700; ++less) {
        if (values.size() % kFp4Block == 0) values.push_back(largest);
        values.push_back(static_cast<uint16_t>((largest - less) | (less % 3 == 0 ? 0x8000 : 0)));
      }
      while (values.size() % kFp4Block != 0) values.push_back(0x8000);
    }
    expect_same(values, tensor_scale, "magnitudes");
    if (HasFatalFailure()) return;
  }
}

TEST(SimdNvfp4Bf16, NastyValuesScalesAndLengths) {
  std::mt19937 dice(2);
  std::normal_distribution<float> normal(0, 1);
  for (int round = 0; round < 3000; ++round) {
    const float tensor_scale = std::ldexp(1.0f + static_cast<float>(dice() % (1 << 23)) * 0x1p-23f,
                                          static_cast<int>(dice() % 230) - 130);
    std::vector<uint16_t> values(dice() % 300 * kFp4Block);
    for (size_t i = 0; i < values.size(); ++i) {
      const int octaves = static_cast<int>((i / kFp4Block * 7) % 30) - 15;
      const float value = normal(dice) * 500 * std::ldexp(tensor_scale, octaves);
      const bool is_wild = round % 5 == 4;  // any finite number at all
      values[i] = is_wild ? static_cast<uint16_t>(dice() & 0xBFFF) : bf16_from_float(value);
      if (dice() % 40 == 0) values[i] = dice() % 2 == 0 ? 0x8000 : 0x8001;
      if ((values[i] & 0x7F80) == 0x7F80) values[i] = 0;
    }
    if (round % 7 == 0 && values.size() > 64) std::fill_n(values.begin() + 16, 32, 0);
    expect_same(values, tensor_scale, "nasty");
    if (HasFatalFailure()) return;
  }
}

TEST(SimdNvfp4Bf16, InfAndNanAreFoundWhereverTheyAre) {
  for (const uint16_t bad : std::vector<uint16_t>{0x7F80, 0xFF80, 0x7FC0, 0xFF81}) {
    for (size_t at = 0; at < 21 * kFp4Block; ++at) {
      std::vector<uint16_t> values(21 * kFp4Block, bf16_from_float(0.25f));
      values[at] = bad;
      const UnalignedBytes bytes(values);
      for (const SimdTarget target : simd_targets()) {
        const ForcedSimdTarget forced(target);
        ASSERT_FALSE(encode(encode_nvfp4_bf16, values, 0.001f).is_finite) << at;
        ASSERT_EQ(largest_bf16(bytes.span().data(), values.size()), bad & 0x7FFF) << at;
      }
    }
  }
}

TEST(SimdNvfp4Bf16, LargestMagnitudeOfAnyLength) {
  std::mt19937 dice(3);
  for (size_t count = 0; count < 400; ++count) {
    std::vector<uint16_t> values(count);
    for (uint16_t& value : values) value = static_cast<uint16_t>(dice());
    const UnalignedBytes bytes(values);
    const uint16_t expected = largest_bf16_scalar(bytes.span().data(), count);
    for (const SimdTarget target : simd_targets()) {
      const ForcedSimdTarget forced(target);
      ASSERT_EQ(largest_bf16(bytes.span().data(), count), expected) << count;
    }
  }
}

// A codec's shortcuts must equal its other functions on the decoded values.
TEST(Bf16Shortcuts, EqualTheWayThroughFloats) {
  std::mt19937 dice(4);
  std::normal_distribution<float> normal(0, 0.02f);
  constexpr uint64_t row_values = 768, rows = 33;
  std::vector<uint16_t> codes(row_values * rows);
  std::vector<float> values;
  for (uint16_t& code : codes)
    values.push_back(float_from_bf16(code = bf16_from_float(normal(dice))));
  int scans = 0, encodes = 0;
  for (const Codec* codec : all_codecs()) {
    const UnalignedBytes bytes(codes);
    EncodeContext context;
    if (codec->scan_bf16 != nullptr) {
      Stats stats{0.001f};
      codec->scan({values, row_values}, context.stats);
      ASSERT_TRUE(codec->scan_bf16(bytes.span(), stats)) << codec->name;
      EXPECT_EQ(stats.amax, context.stats.amax) << codec->name;
      ++scans;
    }
    if (codec->encode_bf16 == nullptr) continue;
    const PartBuffers expected = encode_with(*codec, values, row_values, context);
    const PartBuffers found(*codec, rows, row_values);
    ASSERT_TRUE(codec->encode_bf16(bytes.span(), context, found.parts())) << codec->name;
    for (size_t part = 0; part < codec->parts.size(); ++part) {
      EXPECT_EQ(found.bytes(part), expected.bytes(part)) << codec->name << ", part " << part;
    }
    auto spoilt = codes;
    for (const float beyond : {codec->end * 1.01f, -codec->end * 1.01f}) {  // infinite without end
      spoilt[5000] = bf16_from_float(beyond);
      EXPECT_FALSE(codec->encode_bf16(UnalignedBytes(spoilt).span(), context, found.parts()))
          << codec->name;
    }
    ++encodes;
  }
  EXPECT_GE(scans, 2);
  EXPECT_GE(encodes, 12);
}

}  // namespace
}  // namespace ckpt
