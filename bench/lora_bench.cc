// How fast LoRA adapters are merged, apart from reading and writing: BF16 weights in memory with a
// product of several ranks added, on each SIMD target with fused multiply-adds.
//
//   lora_bench [--threads N]      one line a target and rank: GB/s of BF16, ratio to memcpy
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <thread>
#include <vector>

#include "core/computed/low_rank_source.h"
#include "core/simd/dispatch.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint64_t kRows = 8192, kColumns = 4096, kReadBytes = 4 << 20;

double best_seconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

// Small numbers.
Tensor tensor_of(const char* codec, std::vector<uint64_t> shape, uint64_t value_bytes) {
  std::vector<std::byte> bytes(shape[0] * shape[1] * value_bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 7 % 0x38);
  return make_tensor("t", std::move(shape), *find_codec(all_codecs(), codec), std::move(bytes));
}

// Calls work(first, size) for pieces of `size_bytes`, by some threads.
void in_pieces(uint64_t size_bytes, unsigned threads,
               const std::function<void(uint64_t, uint64_t)>& work) {
  std::vector<std::thread> running;
  for (unsigned i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      for (uint64_t at = i * kReadBytes; at < size_bytes; at += threads * kReadBytes) {
        work(at, std::min(kReadBytes, size_bytes - at));
      }
    });
  }
  for (std::thread& thread : running) thread.join();
}

double merge_rate(const Tensor& base, uint64_t rank, unsigned threads, std::span<std::byte> out) {
  LowRankUpdate update{tensor_of("f32", {kRows, rank}, 4), tensor_of("f32", {rank, kColumns}, 4)};
  const auto merged = with_low_rank(base, std::move(update), low_rank_product);
  if (!merged) std::exit(2);
  const ByteSource& source = *merged->stored().parts[0][0].source;
  const double seconds = best_seconds([&] {
    in_pieces(out.size(), threads, [&](uint64_t at, uint64_t size) {
      if (!source.read(at, out.subspan(at, size))) std::exit(2);
    });
  });
  return static_cast<double>(out.size()) / seconds / 1e9;
}

int run(unsigned threads) {
  const Tensor base = tensor_of("bf16", {kRows, kColumns}, 2);
  std::vector<std::byte> out(kRows * kColumns * 2), from(out.size(), std::byte{1});
  const double copied = static_cast<double>(out.size()) / 1e9 / best_seconds([&] {
                          in_pieces(out.size(), threads, [&](uint64_t at, uint64_t size) {
                            std::memcpy(out.data() + at, from.data() + at, size);
                          });
                        });
  std::cout << fmt::format("memcpy, {} threads: {:.2f} GB/s\n", threads, copied);
  for (const SimdTarget target : simd_targets()) {
    if (target < SimdTarget::kAvx2) continue;
    const ForcedSimdTarget forced(target);
    for (const uint64_t rank : {8, 16, 64, 256}) {
      const double rate = merge_rate(base, rank, threads, out);
      std::cout << fmt::format("{} rank {}: {:.2f} GB/s, {:.2f} x memcpy\n",
                               simd_target_name(target), rank, rate, rate / copied);
    }
  }
  return 0;
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  CLI::App app("speed of merging LoRA adapters");
  unsigned threads = 2;
  app.add_option("--threads", threads, "2 by default");
  CLI11_PARSE(app, argc, argv);
  return ckpt::run(threads);
}
