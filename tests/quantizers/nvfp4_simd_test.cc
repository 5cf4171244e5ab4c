// The kernels of nvfp4/checkpoint.h and fp8/scaled.h against their scalar twins, on every target.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/fp8/scaled.h"
#include "quantizers/nvfp4/checkpoint.h"
#include "tests/quantizers/common.h"
#include "tests/support/weight_sets.h"

namespace ckpt {
namespace {

constexpr size_t kGuard = 64;  // bytes behind each result that must stay as they were

template <class Element>
std::vector<Element> guarded(size_t count) {
  std::vector<Element> out(count + kGuard / sizeof(Element));
  std::memset(out.data(), 0x5A, out.size() * sizeof(Element));
  return out;
}

// Index of the first element whose bytes differ, or -1.
template <class Element>
int64_t first_difference(const std::vector<Element>& a, const std::vector<Element>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(Element)) != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

// Runs `work` with the scalar twin and with each target; results of `count` elements must agree.
template <class Element, class Scalar, class Kernel>
void expect_same(size_t count, const Scalar& scalar, const Kernel& kernel,
                 const std::string& what) {
  auto expected = guarded<Element>(count);
  scalar(expected.data());
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    auto found = guarded<Element>(count);
    kernel(found.data());
    const int64_t at = first_difference(found, expected);
    if (at >= 0) ADD_FAILURE() << simd_target_name(target) << ", " << what << ": element " << at;
  }
}

void check_amax(const float* values, uint64_t blocks, const std::string& what) {
  expect_same<float>(
      blocks, [&](float* out) { find_block_amax_scalar(values, blocks, out); },
      [&](float* out) { find_block_amax(values, blocks, out); }, "amax, " + what);
}

void check_pack(const float* values, uint64_t blocks, const float* divisors,
                const std::string& what) {
  expect_same<std::byte>(
      blocks * kE2m1BlockBytes,
      [&](std::byte* out) { pack_e2m1_scalar(values, blocks, divisors, out); },
      [&](std::byte* out) { pack_e2m1(values, blocks, divisors, out); }, "pack, " + what);
}

void check_unpack(const std::byte* codes, uint64_t blocks, const float* scales,
                  const std::string& what) {
  expect_same<float>(
      blocks * kE2m1BlockValues,
      [&](float* out) { unpack_e2m1_scalar(codes, blocks, scales, out); },
      [&](float* out) { unpack_e2m1(codes, blocks, scales, out); }, "unpack, " + what);
}

void check_scales(const float* amax, uint64_t blocks, float tensor_scale, const std::string& what) {
  std::vector<float> unused_floats(blocks);
  std::vector<std::byte> unused_bytes(blocks);
  expect_same<std::byte>(
      blocks,
      [&](std::byte* out) {
        make_nvfp4_scales_scalar(amax, blocks, tensor_scale, out, unused_floats.data());
      },
      [&](std::byte* out) {
        make_nvfp4_scales(amax, blocks, tensor_scale, out, unused_floats.data());
      },
      "scales, " + what);
  expect_same<float>(
      blocks,
      [&](float* out) {
        make_nvfp4_scales_scalar(amax, blocks, tensor_scale, unused_bytes.data(), out);
      },
      [&](float* out) { make_nvfp4_scales(amax, blocks, tensor_scale, unused_bytes.data(), out); },
      "divisors, " + what);
}

// All kernels on the blocks, as the codec runs them one after the other.
void check_all(const float* values, uint64_t blocks, float tensor_scale, const std::string& what) {
  check_amax(values, blocks, what);
  std::vector<float> amax(blocks);
  find_block_amax_scalar(values, blocks, amax.data());
  check_scales(amax.data(), blocks, tensor_scale, what);
  std::vector<std::byte> scales(blocks);
  std::vector<float> divisors(blocks);
  make_nvfp4_scales_scalar(amax.data(), blocks, tensor_scale, scales.data(), divisors.data());
  check_pack(values, blocks, divisors.data(), what);
  std::vector<std::byte> codes(blocks * kE2m1BlockBytes);
  pack_e2m1_scalar(values, blocks, divisors.data(), codes.data());
  check_unpack(codes.data(), blocks, divisors.data(), what);
}

TEST(SimdNvfp4, EqualsTheScalarTwinOnEverySet) {
  constexpr size_t kValues = 1 << 14;
  const size_t wanted = is_long() ? 60'000'000 : 2'000'000;
  std::vector<float> values(kValues);
  for (const WeightSet& set : weight_sets()) {
    const size_t chunks = wanted / (weight_sets().size() * kValues) + 1;
    for (size_t chunk = 0; chunk < chunks && !HasFailure(); ++chunk) {
      Dice dice(chunk + 1);
      set.fill(values, dice);
      float amax = largest_finite_scalar(values.data(), kValues);
      if (chunk % 3 == 1) amax *= 0.37f;  // of other weights: values saturate
      const float scale = amax > 0 ? amax / 2688 : 1.0f;
      check_all(values.data(), kValues / kE2m1BlockValues, scale > 0 ? scale : 1.0f,
                std::string(set.name) + " chunk " + std::to_string(chunk));
    }
  }
}

TEST(SimdNvfp4, EqualsTheScalarTwinForEveryBlockCount) {
  for (const WeightSet& set : weight_sets()) {
    Dice dice(99);
    std::vector<float> values(70 * kE2m1BlockValues / 256 * 256 + 512);
    set.fill(values, dice);
    values.insert(values.begin(), 0.0f);  // aligned to a float only
    for (uint64_t blocks = 0; blocks <= 70 && !HasFailure(); ++blocks) {
      check_all(values.data() + 1, blocks, 1e-3f, std::string(set.name) + std::to_string(blocks));
    }
  }
}

// Divisors of every kind, among them those that only broken scales give.
TEST(SimdNvfp4, PacksWithAnyDivisor) {
  std::vector<float> values(4096);
  for (const WeightSet& set : weight_sets()) {
    Dice dice(5);
    set.fill(values, dice);
    for (const float divisor : {0.0f, 1e-45f, 1e-38f, 1.0f, 3.3f, 1e38f, kInf, kNan}) {
      const std::vector<float> divisors(values.size() / kE2m1BlockValues, divisor);
      check_pack(values.data(), divisors.size(), divisors.data(),
                 std::string(set.name) + " / " + std::to_string(divisor));
    }
  }
}

// Floats of every kind over 1, both signs: all of them in a long run.
TEST(SimdNvfp4, PacksFloatsOfEveryKind) {
  constexpr uint64_t kPiece = 1 << 20;
  const uint64_t step = is_long() ? 1 : 1021;
  const std::vector<float> ones(kPiece / kE2m1BlockValues, 1.0f);
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32 && !HasFailure(); bits += step) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (values.size() < kPiece) continue;
    check_pack(values.data(), ones.size(), ones.data(), std::to_string(bits));
    values.clear();
  }
  values.resize(values.size() / kE2m1BlockValues * kE2m1BlockValues);
  check_pack(values.data(), values.size() / kE2m1BlockValues, ones.data(), "the rest");
}

TEST(SimdNvfp4, PacksAboutEveryBound) {
  std::vector<float> values;
  for (const float bound : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 6.0f, 0.0f}) {
    for (const float sign : {1.0f, -1.0f}) {
      values.push_back(sign * bound);
      values.push_back(sign * std::nextafter(bound, kInf));
      values.push_back(sign * std::nextafter(bound, 0.0f));
    }
  }
  values.resize(64, 1.0f);
  const std::vector<float> ones(4, 1.0f);
  check_pack(values.data(), 4, ones.data(), "bounds");
}

// Positive floats of every kind as magnitudes.
TEST(SimdNvfp4, ScalesOfMagnitudesOfEveryKind) {
  std::vector<float> amax;
  for (uint32_t bits = 0; bits < 0x7FC00001u; bits += 1021) {
    amax.push_back(std::bit_cast<float>(bits));
  }
  for (const float special : {kInf, kNan, 0.0f}) amax.push_back(special);
  for (const float scale : {1e-45f, 1e-39f, 1.1e-5f, 1.0f, 3e35f}) {
    check_scales(amax.data(), amax.size(), scale, std::to_string(scale));
  }
}

TEST(SimdNvfp4, UnpacksEveryByteWithAnyScale) {
  std::vector<std::byte> codes(1);
  for (int i = 0; i < 256 * 3; ++i) codes.push_back(static_cast<std::byte>(i * 37));
  const uint64_t blocks = 96;
  for (const float scale : {0.0f, -0.0f, 1e-45f, 3e-39f, 0.37f, 1e38f, kInf, kNan, -2.0f}) {
    const std::vector<float> scales(blocks, scale);
    check_unpack(codes.data() + 1, blocks, scales.data(), std::to_string(scale));
  }
}

// Sums are added in one order on every target.
TEST(SimdNvfp4, ErrorsOfManyDivisorsOnEverySet) {
  std::vector<float> divisors;
  for (int i = -60; i < 60; ++i) divisors.push_back(std::exp2(0.31f * static_cast<float>(i)));
  for (const float special : {0.0f, 1e-45f, kInf, kNan}) divisors.push_back(special);
  std::vector<float> values(2048), weights(2048);
  for (const WeightSet& set : weight_sets()) {
    if (!set.finite) continue;  // a NaN of several NaNs may be any of them
    Dice dice(21);
    set.fill(values, dice);
    for (float& weight : weights) weight = dice.uniform();
    const float amax = largest_finite_scalar(values.data(), values.size());
    const float unit = amax > 0 ? amax : 1.0f;
    std::vector<float> scaled = divisors;
    for (float& divisor : scaled) divisor *= unit;
    for (size_t at = 0; at < values.size() && !HasFailure(); at += kE2m1BlockValues) {
      const E2m1Block block{values.data() + at, weights.data() + at};
      const size_t count = scaled.size() - (at / 16) % 2 * 2;
      expect_same<float>(
          count, [&](float* out) { find_e2m1_errors_scalar(block, scaled.data(), count, out); },
          [&](float* out) { find_e2m1_errors(block, scaled.data(), count, out); },
          "errors, " + std::string(set.name));
    }
  }
}

// ---- fp8/scaled.h -------------------------------------------------------------------------------

void check_run(const std::vector<float>& values, size_t count, const std::string& what) {
  const float* in = values.data() + 1;  // aligned to a float only
  expect_same<float>(
      1, [&](float* out) { *out = largest_finite_scalar(in, count); },
      [&](float* out) { *out = largest_finite(in, count); }, "largest, " + what);
  for (const float number : {1.0f, 0.37f, 1e-38f, 3e38f, 1e-45f}) {
    for (const bool to_bf16 : {false, true}) {
      expect_same<float>(
          count, [&](float* out) { divide_values_scalar(in, count, {number, to_bf16}, out); },
          [&](float* out) { divide_values(in, count, {number, to_bf16}, out); }, "divide, " + what);
    }
    expect_same<float>(
        count,
        [&](float* out) {
          std::copy_n(in, count, out);
          multiply_values_scalar(out, count, number);
        },
        [&](float* out) {
          std::copy_n(in, count, out);
          multiply_values(out, count, number);
        },
        "multiply, " + what);
  }
}

TEST(SimdFp8, RunsEqualTheScalarTwinForEverySetAndCount) {
  for (const WeightSet& set : weight_sets()) {
    Dice dice(17);
    std::vector<float> values(2048);
    set.fill(values, dice);
    values.insert(values.begin(), 9e37f);
    for (size_t count = 0; count <= 150 && !HasFailure(); ++count) {
      check_run(values, count, std::string(set.name) + " " + std::to_string(count));
    }
    check_run(values, 2048, std::string(set.name));
  }
}

TEST(SimdFp8, LargestLeavesInfAndNanOutWhereverTheyAre) {
  for (const float special : {kInf, -kInf, kNan, -kNan}) {
    for (size_t i = 0; i < 200; ++i) {
      std::vector<float> values(200, -0.5f);
      values[199 - i] = -2.0f;
      values[i] = special;
      const float expected = 199 - i == i ? 0.5f : 2.0f;
      for (const SimdTarget target : simd_targets()) {
        const ForcedSimdTarget forced(target);
        ASSERT_EQ(largest_finite(values.data(), values.size()), expected) << i;
      }
    }
  }
}

}  // namespace
}  // namespace ckpt
