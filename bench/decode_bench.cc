// Speed of the decoders, and of the encoders of plain numbers, on every target of this processor.
//
//   decode_bench [--types q4_k,bf16] [--rounds 9]
//
// Million values a second on one thread and GB/s of floats written (or read), medians of CPU time,
// beside the same for memcpy of as many floats: decoding cannot be faster than memory. The pieces
// are 32 Ki values out of 16 Mi, so that input comes from memory and output goes to it.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "core/codec.h"
#include "quantizers/quantizers.h"
#include "quantizers/simd_dispatch.h"

namespace ckpt {
namespace {

constexpr size_t kValues = 16 * 1024 * 1024;
constexpr size_t kPiece = 32 * 1024;
constexpr std::string_view kTypes[] = {"bf16", "f16",  "f8_e4m3", "f8_e5m2", "q8_0",
                                       "q4_0", "q4_1", "q5_0",    "q5_1",    "q2_k",
                                       "q3_k", "q4_k", "q5_k",    "q6_k"};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Function>
double median_seconds(int rounds, Function function) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const double begin = cpu_seconds();
    for (size_t at = 0; at < kValues; at += kPiece) function(at);
    seconds.push_back(cpu_seconds() - begin);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void report(std::string_view what, std::string_view target, double seconds) {
  const auto values = static_cast<double>(kValues);
  fmt::print("{:14} {:7} {:9.0f} {:7.1f}\n", what, target, 1e-6 * values / seconds,
             4e-9 * values / seconds);
}

struct Buffers {
  std::vector<float> floats, copy;
  std::vector<std::byte> bytes;
};

void bench(const Codec& codec, int rounds, Buffers& buffers) {
  const PartShape shape = part_shape(codec.parts[0], 1, kPiece);
  const bool plain = codec.block_values == 1;
  const auto piece_bytes = [&](size_t at) {
    return std::span(buffers.bytes).subspan(at / kPiece * shape.size_bytes, shape.size_bytes);
  };
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    const auto encode = [&](size_t at) {
      const std::span<std::byte> part = piece_bytes(at);
      codec.encode({std::span(buffers.floats).subspan(at, kPiece), kPiece}, {}, {&part, 1});
    };
    const auto decode = [&](size_t at) {
      const std::span<const std::byte> part = piece_bytes(at);
      codec.decode({&part, 1}, {std::span(buffers.copy).subspan(at, kPiece), kPiece});
    };
    const double encoding = median_seconds(plain ? rounds : 1, encode);
    if (plain) {
      report(fmt::format("{} encode", codec.name), simd_target_name(target), encoding);
    }
    report(codec.name, simd_target_name(target), median_seconds(rounds, decode));
  }
}

int run(const std::vector<std::string>& types, int rounds) {
  Buffers buffers{std::vector<float>(kValues), std::vector<float>(kValues, 1.0f),
                  std::vector<std::byte>(2 * kValues)};
  for (size_t i = 0; i < kValues; ++i) {
    buffers.floats[i] = static_cast<float>(static_cast<int>(i * 2654435761u >> 8 & 0xFFFF) - 32768);
  }
  fmt::print("{:14} {:7} {:>9} {:>7}\n", "type", "target", "Mvalues/s", "GB/s");
  report("memcpy", "", median_seconds(rounds, [&](size_t at) {
           std::memcpy(buffers.copy.data() + at, buffers.floats.data() + at,
                       kPiece * sizeof(float));
         }));
  for (const std::string_view name : kTypes) {
    if (!types.empty() && std::find(types.begin(), types.end(), name) == types.end()) continue;
    const Codec* codec = find_codec(all_codecs(), name);
    if (codec == nullptr || codec->decode == nullptr) return 1;
    bench(*codec, rounds, buffers);
  }
  return 0;
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  std::vector<std::string> types;
  int rounds = 9;
  CLI::App app("speed of the decoders");
  app.add_option("--types", types, "only these")->delimiter(',');
  app.add_option("--rounds", rounds, "how often everything is run");
  CLI11_PARSE(app, argc, argv);
  return ckpt::run(types, rounds);
}
