#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/simd/dispatch.h"

namespace ckpt {
namespace {

bool has(SimdTarget target) {
  return std::count(simd_targets().begin(), simd_targets().end(), target) == 1;
}

TEST(SimdDispatch, NamesAreFoundAgain) {
  for (const auto target : {SimdTarget::kScalar, SimdTarget::kSse4, SimdTarget::kAvx2,
                            SimdTarget::kAvx512, SimdTarget::kNeon}) {
    EXPECT_EQ(find_simd_target(simd_target_name(target)), target);
  }
  EXPECT_FALSE(find_simd_target("AVX2"));
  EXPECT_FALSE(find_simd_target(""));
}

// Against the compiler's own test of the processor, so that no target is left out in silence.
TEST(SimdDispatch, ListsWhatTheProcessorHas) {
  EXPECT_TRUE(has(SimdTarget::kScalar));
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  EXPECT_EQ(has(SimdTarget::kSse4), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(has(SimdTarget::kAvx2), avx2);
  EXPECT_EQ(has(SimdTarget::kAvx512), avx512);
  EXPECT_FALSE(has(SimdTarget::kNeon));
#elif defined(__aarch64__)
  EXPECT_TRUE(has(SimdTarget::kNeon));
  EXPECT_FALSE(has(SimdTarget::kSse4));
#endif
}

TEST(SimdDispatch, ForcedTargetsAreReset) {
  const SimdTarget before = simd_target();
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    EXPECT_EQ(simd_target(), target);
  }
  EXPECT_EQ(simd_target(), before);
}

int one() { return 1; }
int two() { return 2; }

TEST(SimdDispatch, ANotCompiledTargetTakesTheNextLower) {
  const SimdTable<int()> table = {{one, nullptr, nullptr, nullptr, nullptr}};
  EXPECT_EQ(simd_function(table), &one);
  const ForcedSimdTarget forced(SimdTarget::kScalar);
  const SimdTable<int()> full = {{two, one, one, one, one}};
  EXPECT_EQ(simd_function(full), &two);
}

TEST(SimdDispatch, EnvironmentIsChecked) {
  const char* old = std::getenv("CKPT_SIMD");
  const std::string kept = old != nullptr ? old : "";
  setenv("CKPT_SIMD", "scalar", 1);
  EXPECT_TRUE(check_simd_environment());
  setenv("CKPT_SIMD", "avx1024", 1);
  const Status unknown = check_simd_environment();
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().text().find("avx1024"), std::string::npos);
  EXPECT_NE(unknown.error().text().find("scalar"), std::string::npos);
  if (old != nullptr)
    setenv("CKPT_SIMD", kept.c_str(), 1);
  else
    unsetenv("CKPT_SIMD");
}

}  // namespace
}  // namespace ckpt
