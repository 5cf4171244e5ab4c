// Speed of the decoders, and of the encoders of plain numbers, on every target of this processor.
//
//   decode_bench [--types q4_k,bf16] [--rounds 9]
//
// Million values a second on one thread, GB/s of bytes read and written, and the ratio to memcpy
// of as many bytes (half of them read, half written) between the same buffers in the same round;
// medians of CPU time. The pieces are 32 Ki values out of 16 Mi, so that input comes from memory
// and output goes to it: 1.00 is the speed of memory.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/model/codec.h"
#include "core/simd/dispatch.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr size_t kValues = 16 * 1024 * 1024;
constexpr size_t kPiece = 32 * 1024;
constexpr size_t kRowValues = 1024;
constexpr std::string_view kTypes[] = {
    "bf16",     "f16",      "f8_e4m3", "f8_e5m2",    "q8_0",        "q4_0",
    "q4_1",     "q5_0",     "q5_1",    "q2_k",       "q3_k",        "q4_k",
    "q5_k",     "q6_k",     "mxfp4",   "nvfp4",      "nvfp4_gguf",  "nvfp4_modelopt",
    "nvfp4_ct", "mxfp4_ct", "mxfp8",   "fp8_tensor", "fp8_channel", "fp8_block"};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

template <class Function>
double seconds_of(Function function) {
  const double begin = cpu_seconds();
  for (size_t at = 0; at < kValues; at += kPiece) function(at);
  return cpu_seconds() - begin;
}

struct Buffers {
  std::vector<float> floats, copy;
};

// The parts of all values; each piece's lie behind those of the one before.
class Encoded {
 public:
  explicit Encoded(const Codec& codec) : codec_(codec) {
    for (const PartRule& rule : codec.parts) {
      sizes_.push_back(part_shape(rule, kPiece / kRowValues, kRowValues).size_bytes);
      parts_.emplace_back(sizes_.back() * (kValues / kPiece));
    }
  }
  void encode(size_t at, const std::vector<float>& floats) {
    std::vector<std::span<std::byte>> parts;
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts.push_back(std::span(parts_[i]).subspan(at / kPiece * sizes_[i], sizes_[i]));
    }
    EncodeContext context;
    context.stats.amax = context.stats.own_amax = 32768;
    codec_.encode({std::span(floats).subspan(at, kPiece), kRowValues}, context, parts);
  }
  void decode(size_t at, std::vector<float>& floats) const {
    std::array<std::span<const std::byte>, 4> parts;
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts[i] = std::span(parts_[i]).subspan(at / kPiece * sizes_[i], sizes_[i]);
    }
    codec_.decode(std::span(parts).first(parts_.size()),
                  {std::span(floats).subspan(at, kPiece), kRowValues});
  }
  uint64_t piece_bytes() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0});
  }

 private:
  const Codec& codec_;
  std::vector<uint64_t> sizes_;
  std::vector<std::vector<std::byte>> parts_;
};

// Rounds in which `function`, which moves `moved_bytes` a piece, and memcpy take turns.
template <class Function>
void report(std::string_view what, int rounds, uint64_t moved_bytes, Buffers& buffers,
            Function function) {
  std::vector<double> seconds, ratios;
  for (int round = 0; round < rounds; ++round) {
    seconds.push_back(seconds_of(function));
    const double beside = seconds_of([&](size_t at) {
      std::memcpy(buffers.copy.data() + at, buffers.floats.data() + at, moved_bytes / 2);
    });
    ratios.push_back(beside / seconds.back());
  }
  const double rate = static_cast<double>(kValues) / median(seconds);
  const double bytes = static_cast<double>(moved_bytes) / static_cast<double>(kPiece);
  fmt::print("{:16} {:7} {:9.0f} {:7.1f} {:7.2f}\n", what, simd_target_name(simd_target()),
             1e-6 * rate, 1e-9 * rate * bytes, median(ratios));
}

void bench(const Codec& codec, int rounds, Buffers& buffers) {
  Encoded encoded(codec);
  const uint64_t moved_bytes = encoded.piece_bytes() + kPiece * sizeof(float);
  seconds_of([&](size_t at) { encoded.encode(at, buffers.floats); });
  for (const SimdTarget target : simd_targets()) {
    const ForcedSimdTarget forced(target);
    if (codec.block_values == 1 && codec.parts.size() == 1) {
      report(fmt::format("{} encode", codec.name), rounds, moved_bytes, buffers,
             [&](size_t at) { encoded.encode(at, buffers.floats); });
    }
    report(codec.name, rounds, moved_bytes, buffers,
           [&](size_t at) { encoded.decode(at, buffers.copy); });
  }
}

int run(const std::vector<std::string>& types, int rounds) {
  Buffers buffers{std::vector<float>(kValues), std::vector<float>(kValues, 1.0f)};
  for (size_t i = 0; i < kValues; ++i) {
    buffers.floats[i] = static_cast<float>(static_cast<int>(i * 2654435761u >> 8 & 0xFFFF) - 32768);
  }
  fmt::print("{:16} {:7} {:>9} {:>7} {:>7}\n", "type", "target", "Mvalues/s", "GB/s", "memcpy");
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
