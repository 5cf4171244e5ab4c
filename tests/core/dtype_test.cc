#include "core/model/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace ckpt {
namespace {

struct Expected {
  Dtype dtype;
  std::string_view name;
  uint32_t values, size_bytes;
};

// llama.cpp ggml/src/ggml-common.h: the sizes its static_asserts hold the blocks to.
constexpr Expected kGgml[] = {
    {Dtype::kF32, "f32", 1, 4},
    {Dtype::kF16, "f16", 1, 2},
    {Dtype::kQ4_0, "q4_0", 32, 18},
    {Dtype::kQ4_1, "q4_1", 32, 20},
    {Dtype::kQ5_0, "q5_0", 32, 22},
    {Dtype::kQ5_1, "q5_1", 32, 24},
    {Dtype::kQ8_0, "q8_0", 32, 34},
    {Dtype::kQ8_1, "q8_1", 32, 36},
    {Dtype::kQ2K, "q2_k", 256, 84},
    {Dtype::kQ3K, "q3_k", 256, 110},
    {Dtype::kQ4K, "q4_k", 256, 144},
    {Dtype::kQ5K, "q5_k", 256, 176},
    {Dtype::kQ6K, "q6_k", 256, 210},
    {Dtype::kQ8K, "q8_k", 256, 292},
    {Dtype::kIq2Xxs, "iq2_xxs", 256, 66},
    {Dtype::kIq2Xs, "iq2_xs", 256, 74},
    {Dtype::kIq3Xxs, "iq3_xxs", 256, 98},
    {Dtype::kIq1S, "iq1_s", 256, 50},
    {Dtype::kIq4Nl, "iq4_nl", 32, 18},
    {Dtype::kIq3S, "iq3_s", 256, 110},
    {Dtype::kIq2S, "iq2_s", 256, 82},
    {Dtype::kIq4Xs, "iq4_xs", 256, 136},
    {Dtype::kI8, "i8", 1, 1},
    {Dtype::kI16, "i16", 1, 2},
    {Dtype::kI32, "i32", 1, 4},
    {Dtype::kI64, "i64", 1, 8},
    {Dtype::kF64, "f64", 1, 8},
    {Dtype::kIq1M, "iq1_m", 256, 56},
    {Dtype::kBF16, "bf16", 1, 2},
    {Dtype::kTq1_0, "tq1_0", 256, 54},
    {Dtype::kTq2_0, "tq2_0", 256, 66},
    {Dtype::kMxfp4, "mxfp4", 32, 17},
    {Dtype::kNvfp4, "nvfp4", 64, 36},
    {Dtype::kQ1_0, "q1_0", 128, 18},
    {Dtype::kQ2_0, "q2_0", 64, 18},
};

// safetensors/src/tensor.rs `Dtype::bitsize`, as values in whole bytes.
constexpr Expected kSafetensors[] = {
    {Dtype::kBool, "bool", 1, 1},
    {Dtype::kF4, "f4", 2, 1},
    {Dtype::kF6E2M3, "f6_e2m3", 4, 3},
    {Dtype::kF6E3M2, "f6_e3m2", 4, 3},
    {Dtype::kU8, "u8", 1, 1},
    {Dtype::kF8E5M2, "f8_e5m2", 1, 1},
    {Dtype::kF8E4M3, "f8_e4m3", 1, 1},
    {Dtype::kF8E8M0, "f8_e8m0", 1, 1},
    {Dtype::kF8E4M3Fnuz, "f8_e4m3fnuz", 1, 1},
    {Dtype::kF8E5M2Fnuz, "f8_e5m2fnuz", 1, 1},
    {Dtype::kU16, "u16", 1, 2},
    {Dtype::kU32, "u32", 1, 4},
    {Dtype::kC64, "c64", 1, 8},
    {Dtype::kU64, "u64", 1, 8},
};

void check(const Expected& expected) {
  EXPECT_EQ(info(expected.dtype).name, expected.name);
  EXPECT_EQ(element_values(expected.dtype), expected.values) << expected.name;
  EXPECT_EQ(size_bytes(expected.dtype), expected.size_bytes) << expected.name;
}

TEST(Dtype, SizesAreThoseOfTheFormats) {
  for (const Expected& expected : kGgml) check(expected);
  for (const Expected& expected : kSafetensors) check(expected);
  EXPECT_EQ(std::size(kGgml) + std::size(kSafetensors), kDtypeCount) << "a dtype is not checked";
}

TEST(Dtype, NamesAreUnique) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < kDtypeCount; ++i) names.insert(info(static_cast<Dtype>(i)).name);
  EXPECT_EQ(names.size(), kDtypeCount);
}

}  // namespace
}  // namespace ckpt
