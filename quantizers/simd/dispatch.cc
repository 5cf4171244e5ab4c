#include "quantizers/simd/dispatch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "hwy/highway.h"

namespace ckpt {
namespace {

constexpr std::array<std::string_view, kSimdTargetCount> kNames = {"scalar", "sse4", "avx2",
                                                                   "avx512", "neon"};
constexpr int kNotForced = -1;
std::atomic<int> forced_target{kNotForced};

std::vector<SimdTarget> detect_targets() {
  std::vector<SimdTarget> out = {SimdTarget::kScalar};
#if HWY_ARCH_X86
  const int64_t supported = hwy::SupportedTargets();
  if (supported & HWY_SSE4) out.push_back(SimdTarget::kSse4);
  if (supported & HWY_AVX2) out.push_back(SimdTarget::kAvx2);
  if (supported & HWY_AVX3) out.push_back(SimdTarget::kAvx512);
#elif HWY_ARCH_ARM_A64
  out.push_back(SimdTarget::kNeon);  // part of every AArch64
#endif
  return out;
}

bool has_target(SimdTarget target) {
  const auto targets = simd_targets();
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

// Without a value when the variable is not set.
Result<std::optional<SimdTarget>> environment_target() {
  const char* name = std::getenv("CKPT_SIMD");
  if (name == nullptr || *name == 0) return std::nullopt;
  const auto target = find_simd_target(name);
  if (target && has_target(*target)) return target;
  std::string known;
  for (const SimdTarget each : simd_targets()) known += fmt::format(" {}", simd_target_name(each));
  return fail(ErrorCode::kUsage, "CKPT_SIMD is '{}'; this processor has{}", name, known);
}

SimdTarget detect_target() {
  const auto wanted = environment_target();
  if (wanted && *wanted) return **wanted;
  return simd_targets().back();
}

}  // namespace

std::string_view simd_target_name(SimdTarget target) { return kNames[static_cast<size_t>(target)]; }

std::optional<SimdTarget> find_simd_target(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<SimdTarget>(found - kNames.begin());
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
