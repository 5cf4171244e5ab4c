// Shows that the comparison of vector encoders with scalar twins would notice a fused multiply-add.
//
// This program is linked with scalar twins that were compiled with contraction on. It succeeds when
// they differ from the vector encoders, which were not: for every type, on the weights of the short
// test. Were the flag -ffp-contract=off lost, these are the differences that would appear.
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"
#include "tests/support/weight_sets.h"

namespace ckpt {
namespace {

constexpr size_t kBlocks = 16384;
constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt

template <class Block>
size_t count_different(const std::vector<float>& values, const char* name,
                       void (*encode)(const float*, uint64_t, Block*),
                       void (*contracted)(const float*, uint64_t, Block*)) {
  std::vector<Block> found(kBlocks), expected(kBlocks);
  encode(values.data(), kBlocks, found.data());
  contracted(values.data(), kBlocks, expected.data());
  size_t different = 0;
  for (size_t b = 0; b < kBlocks; ++b) {
    different += std::memcmp(&found[b], &expected[b], sizeof(Block)) != 0 ? 1 : 0;
  }
  std::printf("%s: %zu of %zu blocks differ\n", name, different, kBlocks);
  return different;
}

bool has_fused_multiply_add() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace
}  // namespace ckpt

int main() {
  using namespace ckpt;
  if (!has_fused_multiply_add() || simd_target() == SimdTarget::kScalar) {
    std::printf("skipped: this processor has no fused multiply-add, or CKPT_SIMD is scalar\n");
    return kSkipped;
  }
  std::vector<float> values(kBlocks * 256);
  Dice dice(1);
  std::span<float> rest(values);
  for (const WeightSet& set : weight_sets().first(8)) {  // sets with ordinary sums
    set.fill(rest.first(values.size() / 8), dice);
    rest = rest.subspan(values.size() / 8);
  }
  bool noticed = true;
  noticed &= count_different(values, "q4_k", encode_q4_k, encode_q4_k_scalar) > 0;
  noticed &= count_different(values, "q5_k", encode_q5_k, encode_q5_k_scalar) > 0;
  noticed &= count_different(values, "q6_k", encode_q6_k, encode_q6_k_scalar) > 0;
  return noticed ? 0 : 1;
}
