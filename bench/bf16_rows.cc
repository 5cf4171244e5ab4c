#include "bench/bf16_rows.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "core/model/codec.h"
#include "core/model/float_convert.h"
#include "core/simd/dispatch.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint64_t kValues = uint64_t{64} << 20;
constexpr uint64_t kRowValues = 4096;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Work>
double seconds_of(const Work& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

double median(std::vector<double>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

struct Memory {
  std::vector<uint16_t> values, copy;
  std::vector<std::vector<std::byte>> parts;
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(values)); }
};

std::vector<uint16_t> made_values() {
  std::vector<uint16_t> out(kValues);
  std::mt19937 dice(1);
  std::normal_distribution<float> normal(0, 0.02f);
  constexpr size_t kMade = 1 << 20;
  for (size_t i = 0; i < kMade; ++i) out[i] = bf16_from_float(normal(dice));
  for (size_t i = kMade; i < kValues; ++i) out[i] = out[i - kMade];
  return out;
}

// The times of both passes; `done` is false if a shortcut was refused.
struct PassTimes {
  std::vector<double> scan, encode, copy;
  bool done = true;
};
void run_passes(const Codec& codec, Memory& memory, PassTimes& passes) {
  EncodeContext context;
  std::vector<std::span<std::byte>> parts(memory.parts.begin(), memory.parts.end());
  passes.copy.push_back(seconds_of(
      [&] { std::memcpy(memory.copy.data(), memory.values.data(), memory.bytes().size()); }));
  passes.scan.push_back(
      seconds_of([&] { passes.done &= codec.scan_bf16(memory.bytes(), context.stats); }));
  passes.encode.push_back(
      seconds_of([&] { passes.done &= codec.encode_bf16(memory.bytes(), context, parts); }));
}

bool report(const Codec& codec, const Bf16RowChoice& choice, Memory& memory) {
  memory.parts.clear();
  for (const PartRule& rule : codec.parts) {
    memory.parts.emplace_back(part_shape(rule, kValues / kRowValues, kRowValues).size_bytes);
  }
  std::vector<std::vector<std::byte>> expected;
  {
    const ForcedSimdTarget forced(SimdTarget::kScalar);
    PassTimes passes;
    run_passes(codec, memory, passes);
    expected = memory.parts;
  }
  bool all_same = true;
  for (const SimdTarget target : simd_targets()) {
    if (target == SimdTarget::kScalar || !choice.wants_target(simd_target_name(target))) continue;
    const ForcedSimdTarget forced(target);
    PassTimes passes;
    for (int i = 0; i < choice.rounds; ++i) run_passes(codec, memory, passes);
    const bool same = passes.done && memory.parts == expected;
    const double scan = median(passes.scan), encode = median(passes.encode);
    const double millions = 1e-6 * static_cast<double>(kValues);
    fmt::print("{:14} {:7} {:9.0f} {:9.0f} {:9.0f} {:8.2f}  {}\n", codec.name,
               simd_target_name(target), millions / scan, millions / encode,
               millions / (scan + encode), median(passes.copy) / (scan + encode),
               same ? "same as scalar" : "DIFFERS from scalar");
    all_same = all_same && same;
  }
  return all_same;
}

}  // namespace

bool report_bf16_rows(const Bf16RowChoice& choice) {
  const auto is_wanted = [&](const Codec* codec) {
    return codec->scan_bf16 != nullptr && codec->encode_bf16 != nullptr &&
           choice.wants_codec(codec->name);
  };
  const Codecs codecs = all_codecs();
  if (std::none_of(codecs.begin(), codecs.end(), is_wanted)) return true;
  Memory memory{made_values(), std::vector<uint16_t>(kValues, 1), {}};
  fmt::print("\nBF16 from memory\n{:14} {:7} {:>9} {:>9} {:>9} {:>8}\n", "type", "target", "scan",
             "encode", "both", "x memcpy");
  bool same = true;
  for (const Codec* codec : codecs)
    same = (!is_wanted(codec) || report(*codec, choice, memory)) && same;
  return same;
}

}  // namespace ckpt
