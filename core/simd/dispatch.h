// Chooses the vector instructions of all kernels once at run time.
//
// Highway compiles a *_simd.cc file once per target. The file looks like this:
//
//   #include "core/simd/dispatch.h"           before Highway, because it limits the targets
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE ".../x_simd.cc"
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//   #if CKPT_SIMD_TARGET                            not in the pass for machines without vectors
//   HWY_BEFORE_NAMESPACE();
//   namespace ckpt::HWY_NAMESPACE { void encode(...) { kernel } }
//   HWY_AFTER_NAMESPACE();
//   #endif
//   #if HWY_ONCE
//   namespace ckpt {
//   CKPT_SIMD_FUNCTION(void, encode_x, encode, (parameters), (arguments))    twin: encode_x_scalar
//   }
//   #endif
//
// Note: kernels give the bytes of their scalar twin on every target, so the choice only changes the
// speed. Kernels must not use MulAdd, approximate reciprocals, or Min and Max on floats whose NaN
// or zero signs matter, because targets differ in these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/result.h"

// Leaves out SSSE3, AVX-512 of later processors and SVE, which Highway would also build.
#define HWY_DISABLED_TARGETS \
  (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
// NEON is part of every AArch64. Without run-time dispatch Highway compiles it as ordinary code;
// otherwise GCC refuses to inline it into the constructors that the compiler generates for structs
// of vectors.
#if defined(__aarch64__) && !defined(TOOLCHAIN_MISS_SYS_AUXV_H)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif
#define CKPT_SIMD_TARGET (HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR)

// Defines a function that runs the kernel for this processor (AVX3 is AVX-512 F, CD, BW, DQ, VL).
#define CKPT_SIMD_FUNCTION(result, name, kernel, parameters, arguments)                      \
  result name parameters {                                                                   \
    static constexpr SimdTable<std::remove_pointer_t<std::decay_t<decltype(name##_scalar)>>> \
        kTable{{name##_scalar, HWY_CHOOSE_SSE4(kernel), HWY_CHOOSE_AVX2(kernel),             \
                HWY_CHOOSE_AVX3(kernel), HWY_CHOOSE_NEON(kernel)}};                          \
    return simd_function(kTable) arguments;                                                  \
  }
// Does the same for decoding functions of codecs.
#define CKPT_SIMD_DECODER(name, kernel, Block)                                             \
  CKPT_SIMD_FUNCTION(void, name, kernel, (const Block* in, uint64_t count, float* values), \
                     (in, count, values))
#define CKPT_SIMD_ENCODER(name, kernel, Block)                                              \
  CKPT_SIMD_FUNCTION(void, name, kernel, (const float* values, uint64_t count, Block* out), \
                     (values, count, out))
#define CKPT_SIMD_WEIGHTED_ENCODER(name, kernel, Block)                                  \
  CKPT_SIMD_FUNCTION(void, name, kernel,                                                 \
                     (ConstFloatRows rows, std::span<const float> weights, Block * out), \
                     (rows, weights, out))

namespace ckpt {

enum class SimdTarget : uint8_t { kScalar, kSse4, kAvx2, kAvx512, kNeon };
inline constexpr size_t kSimdTargetCount = 5;

// The words of CKPT_SIMD: "scalar", "sse4", "avx2", "avx512", "neon".
std::string_view simd_target_name(SimdTarget target);
std::optional<SimdTarget> find_simd_target(std::string_view name);

// The targets that this processor can run, slowest first; kScalar is always among them.
std::span<const SimdTarget> simd_targets();

// The target of kernels: the last of simd_targets(), or the one named by the environment variable
// CKPT_SIMD, or the one forced by a ForcedSimdTarget.
SimdTarget simd_target();

// Fails: kUsage if CKPT_SIMD does not name a target that this processor can run; kernels then
// ignore it.
Status check_simd_environment();

// Whether this processor has instructions for SHA-256, and CKPT_SIMD does not ask for scalar code.
bool uses_sha_instructions();

// For tests and benchmarks: while the object exists, all threads use `target`. Must not be nested
// or used from two threads. Requires: simd_targets() has the target.
class ForcedSimdTarget {
 public:
  explicit ForcedSimdTarget(SimdTarget target);
  ~ForcedSimdTarget();
  ForcedSimdTarget(const ForcedSimdTarget&) = delete;
  ForcedSimdTarget& operator=(const ForcedSimdTarget&) = delete;
};

template <class Function>
struct SimdTable {
  std::array<Function*, kSimdTargetCount> functions;  // indexed by SimdTarget; null: not compiled
};

// Returns the function for simd_target(), or for the next lower target that was compiled.
template <class Function>
Function* simd_function(const SimdTable<Function>& table) {
  auto index = static_cast<size_t>(simd_target());
  while (table.functions[index] == nullptr) --index;
  return table.functions[index];
}

}  // namespace ckpt
