// encode_once TYPE TARGET BLOCKS: encodes normal weights, for counting instructions.
//
// Under an emulator time says nothing, but instructions can be counted: two runs with different
// numbers of blocks, their difference divided by the weights between them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/simd/dispatch.h"
#include "quantizers/ggml/k/k_quants.h"

namespace ckpt {
namespace {

std::vector<float> normal_weights(size_t count) {
  std::vector<float> out(count);
  uint32_t state = 1;
  for (float& value : out) {
    float sum = -3;
    for (int i = 0; i < 6; ++i) {
      state = state * 1664525u + 1013904223u;
      sum += static_cast<float>(state >> 8) * 0x1p-24f;
    }
    value = 0.02f * sum;
  }
  return out;
}

int run(const std::string& type, const std::string& target_name, uint64_t blocks) {
  constexpr uint64_t kPiece = 128;
  const auto target = find_simd_target(target_name);
  if (!target) return 2;
  const ForcedSimdTarget forced(*target);
  const std::vector<float> values = normal_weights(kPiece * 256);
  std::vector<BlockQ4K> q4(kPiece);
  std::vector<BlockQ5K> q5(kPiece);
  std::vector<BlockQ6K> q6(kPiece);
  for (uint64_t done = 0; done < blocks; done += kPiece) {
    if (type == "q4_k") encode_q4_k(values.data(), kPiece, q4.data());
    if (type == "q5_k") encode_q5_k(values.data(), kPiece, q5.data());
    if (type == "q6_k") encode_q6_k(values.data(), kPiece, q6.data());
  }
  return 0;
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "encode_once TYPE TARGET BLOCKS\n");
    return 2;
  }
  return ckpt::run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
}
