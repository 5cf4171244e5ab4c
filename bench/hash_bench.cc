// How fast one core computes SHA-256 of several files together, as a ratio to one alone.
//
//   hash_bench      one line each: instructions, files, GB/s of CPU time, ratio to one file alone
#include <algorithm>
#include <ctime>
#include <iostream>
#include <vector>

#include "core/simd/dispatch.h"
#include "core/simd/sha256_each.h"

namespace ckpt {
namespace {

constexpr size_t kPieceBytes = 256 << 10, kBytes = 128 << 20;
constexpr int kRuns = 7;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// GB/s, the median of some runs.
double rate_of(size_t files) {
  const std::vector<std::byte> bytes(kPieceBytes * files, std::byte{7});
  std::vector<double> rates;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<Sha256> hashes(files);
    std::vector<Sha256Piece> pieces;
    for (size_t i = 0; i < files; ++i) {
      pieces.push_back({&hashes[i], std::span(bytes).subspan(i * kPieceBytes, kPieceBytes)});
    }
    const double start = cpu_seconds();
    for (size_t done = 0; done < kBytes; done += bytes.size()) add_to_each(pieces);
    rates.push_back(static_cast<double>(kBytes) / (cpu_seconds() - start) / 1e9);
  }
  std::ranges::sort(rates);
  return rates[kRuns / 2];
}

}  // namespace
}  // namespace ckpt

int main() {
  using namespace ckpt;
  std::cout << fmt::format("instructions for SHA-256: {}\n", uses_sha_instructions());
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    const double alone = rate_of(1);
    for (const size_t files : {1, 2, 4, 8, 12, 16}) {
      const double rate = rate_of(files);
      std::cout << fmt::format("{:<8} {:>2} files  {:6.2f} GB/s  {:.2f} of one\n",
                               simd_target_name(target), files, rate, rate / alone);
    }
  }
}
