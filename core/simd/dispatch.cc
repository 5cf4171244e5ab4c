#include "core/simd/dispatch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "hwy/detect_targets.h"
#if HWY_ARCH_X86
#include <cpuid.h>
#elif HWY_ARCH_ARM_A64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ckpt {
namespace {

constexpr std::array<std::string_view, kSimdTargetCount> kTargets = {"scalar", "sse4", "avx2",
                                                                   "avx512", "neon"};
constexpr int kNotForced = -1;
std::atomic<int> forced_target{kNotForced};

#if HWY_ARCH_X86
// The features of an x86 processor, and the registers that the operating system saves (Intel's
// manual, volume 2, CPUID, and volume 1, 13.3). Read here, because Highway's function for this is
// in its library, and Debian has no static one; everything else is in headers.
struct Processor {
  static constexpr unsigned kSse41 = bit_SSSE3 | bit_SSE4_1;
  unsigned leaf1_ecx = 0, leaf7_ebx = 0;
  uint64_t saved = 0;  // XCR0

  Processor() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) leaf7_ebx = ebx;
    if ((leaf1_ecx & bit_OSXSAVE) == 0) return;
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    saved = (uint64_t{edx} << 32) | eax;
  }

  bool has_sha() const { return (leaf1_ecx & kSse41) == kSse41 && (leaf7_ebx & bit_SHA) != 0; }
  bool has(unsigned of_leaf1, unsigned of_leaf7, uint64_t registers) const {
    return (leaf1_ecx & of_leaf1) == of_leaf1 && (leaf7_ebx & of_leaf7) == of_leaf7 &&
           (saved & registers) == registers;
  }
};

// The instructions that Highway lets the compiler use for each target (HWY_TARGET_STR).
constexpr unsigned kSse4 = bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_PCLMUL | bit_AES;
constexpr unsigned kAvx = kSse4 | bit_AVX | bit_FMA | bit_F16C;
constexpr unsigned kAvx2 = bit_AVX2 | bit_BMI | bit_BMI2;
constexpr unsigned kAvx512 =
    kAvx2 | bit_AVX512F | bit_AVX512CD | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
constexpr uint64_t kYmm = 0x06, kZmm = 0xE6;  // XCR0 bits: SSE and AVX; plus three of AVX-512
#endif

std::vector<SimdTarget> detect_targets() {
  std::vector<SimdTarget> out = {SimdTarget::kScalar};
#if HWY_ARCH_X86
  const Processor processor;
  if (processor.has(kSse4, 0, 0)) out.push_back(SimdTarget::kSse4);
  if (processor.has(kAvx, kAvx2, kYmm)) out.push_back(SimdTarget::kAvx2);
  if (processor.has(kAvx, kAvx512, kZmm)) out.push_back(SimdTarget::kAvx512);
#elif HWY_ARCH_ARM_A64
  out.push_back(SimdTarget::kNeon);  // every AArch64 has NEON
#endif
  return out;
}

bool has_sha_instructions() {
#if HWY_ARCH_X86
  return Processor().has_sha();
#elif HWY_ARCH_ARM_A64
  return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0;
#else
  return false;
#endif
}

bool has_target(SimdTarget target) {
  const auto targets = simd_targets();
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

// Returns no value if the variable is not set.
Result<std::optional<SimdTarget>> environment_target() {
  const char* name = std::getenv("CKPT_SIMD");
  if (name == nullptr) return std::nullopt;
  const auto target = find_simd_target(name);
  if (target && has_target(*target)) return target;
  std::string known;
  for (const SimdTarget each : simd_targets()) known += fmt::format(" {}", simd_target_name(each));
  return misuse("CKPT_SIMD is '{}'; this processor has{}", name, known);
}

SimdTarget detect_target() {
  const auto wanted = environment_target();
  if (wanted && *wanted) return **wanted;
  return simd_targets().back();
}

}  // namespace

std::string_view simd_target_name(SimdTarget target) {
  return kTargets[static_cast<size_t>(target)];
}

std::optional<SimdTarget> find_simd_target(std::string_view name) {
  const auto found = std::find(kTargets.begin(), kTargets.end(), name);
  if (found == kTargets.end()) return std::nullopt;
  return static_cast<SimdTarget>(found - kTargets.begin());
}

std::span<const SimdTarget> simd_targets() {
  static const std::vector<SimdTarget> targets = detect_targets();
  return targets;
}

SimdTarget simd_target() {
  static const SimdTarget detected = detect_target();
  const int forced = forced_target.load(std::memory_order_relaxed);
  return forced == kNotForced ? detected : static_cast<SimdTarget>(forced);
}

bool uses_sha_instructions() {
  static const bool detected = has_sha_instructions();
  return detected && simd_target() != SimdTarget::kScalar;
}

Status check_simd_environment() {
  const auto target = environment_target();
  if (!target) return Failure(target.error());
  return {};
}

ForcedSimdTarget::ForcedSimdTarget(SimdTarget target) {
  CKPT_CHECK(has_target(target));
  forced_target = static_cast<int>(target);
}

ForcedSimdTarget::~ForcedSimdTarget() { forced_target = kNotForced; }

}  // namespace ckpt
