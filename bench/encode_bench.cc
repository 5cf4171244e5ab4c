// Speed of the encoders: ours on every target of this processor, the scalar twin's and ggml's.
//
//   encode_bench [--weights FILE.safetensors] [--data zero] [--types q4_k,q6_k] [--targets avx2]
//                [--rounds 9] [--csv FILE]
//
// Million weights a second on one thread, medians. A round runs ggml, the scalar twin and each
// target on the same weights, so that a slow moment of the machine hits all of them. Work comes in
// pieces of 32 Ki weights, as conversions hand it out. CPU time is counted, not time on the wall.
// Rows are appended to the CSV file, with the machine and the compiler.
//
// Codecs that take BF16 as it is in memory have a second table, compared with memcpy (bf16_rows.h).
//
// The ratio is the median of ggml divided by ours in the same run; rates of different runs do not
// compare. Pin the process (taskset -c 1) for steady numbers.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <optional>

#include "bench/bench_data.h"
#include "bench/bf16_rows.h"
#include "bench/encoders.h"
#include "bench/ggml_peer.h"
#include "core/simd/dispatch.h"

namespace ckpt {
namespace {

constexpr size_t kWeights = 512 * 1024;
constexpr size_t kPiece = 32 * 1024;
constexpr size_t kRowValues = 1024;

struct Options {
  std::string weights, csv;
  std::string data = "normal";
  std::vector<std::string> types, targets;
  int rounds = 9;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers.empty() ? 0 : numbers[numbers.size() / 2];
}

struct Run {
  const std::vector<float>& values;
  std::vector<float> weights;
  std::vector<std::byte> out;
};

// Seconds of one pass over the values.
template <class Encode>
double time_pass(Run& run, const Encoder& encoder, const Encode& encode) {
  const double begin = cpu_seconds();
  for (size_t at = 0; at < run.values.size(); at += kPiece) {
    const ConstFloatRows rows{std::span(run.values).subspan(at, kPiece), kRowValues};
    encode(rows, run.weights, run.out.data() + at / encoder.block_values * encoder.block_bytes);
  }
  return cpu_seconds() - begin;
}

struct Timing {
  SimdTarget target;
  std::vector<double> seconds;
  bool same = true;  // bytes equal to the scalar twin's
};

struct Timings {
  std::string data;  // what the weights are
  std::vector<double> ggml, scalar;
  bool ggml_same = true;
  std::vector<Timing> targets;
};

void run_round(const Encoder& encoder, const GgmlPeer* peer, Run& run, Timings& timings) {
  timings.scalar.push_back(time_pass(run, encoder, encoder.scalar));
  const std::vector<std::byte> expected = run.out;
  if (peer != nullptr && encoder.ggml_type != Encoder::kNoPeer) {
    const auto encode = [&](ConstFloatRows rows, std::span<const float> weights, std::byte* out) {
      peer->encode(encoder.ggml_type, rows, weights, out);
    };
    timings.ggml.push_back(time_pass(run, encoder, encode));
    timings.ggml_same = timings.ggml_same && run.out == expected;
  }
  for (Timing& timing : timings.targets) {
    const ForcedSimdTarget forced(timing.target);
    for (int i = 0; i < 3; ++i) timing.seconds.push_back(time_pass(run, encoder, encoder.encode));
    timing.same = timing.same && run.out == expected;
  }
}

std::string machine_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, model, numbers;
  while (std::getline(file, line) && !line.empty()) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) model = value;
    if (line.starts_with("cpu family")) numbers += " family " + value;
    if (line.starts_with("model\t")) numbers += " model " + value;
  }
  return model.empty() ? "unknown" : model + numbers;
}

#ifdef __clang__
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

void report(const Encoder& encoder, const Timings& timings, std::ofstream* csv) {
  const double millions = 1e-6 * static_cast<double>(kWeights);
  const double scalar = median(timings.scalar);
  const double ggml = median(timings.ggml);
  for (const Timing& timing : timings.targets) {
    const double ours = median(timing.seconds);
    const double ggml_rate = ggml > 0 ? millions / ggml : 0;
    const std::string same = !timing.same           ? "DIFFERS from scalar"
                             : !timings.ggml_same   ? "DIFFERS from ggml"
                             : timings.ggml.empty() ? "same as scalar"
                                                    : "same bytes";
    fmt::print("{:14} {:7} {:9.1f} {:9.1f} {:9.1f} {:8.2f} {:8.2f}  {}\n", encoder.name,
               simd_target_name(timing.target), millions / ours, ggml_rate, millions / scalar,
               ggml / ours, scalar / ours, same);
    if (csv == nullptr) continue;
    *csv << fmt::format("{},{},{},{},{},{:.1f},{:.1f},{:.1f},{:.2f},{:.2f},{}\n", machine_name(),
                        kCompiler, timings.data, encoder.name, simd_target_name(timing.target),
                        millions / ours, ggml_rate, millions / scalar, ggml / ours, scalar / ours,
                        same);
  }
}

bool wanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool bench(const Encoder& encoder, const GgmlPeer* peer, Run& run, const Options& options,
           std::ofstream* csv) {
  run.out.assign(kWeights / encoder.block_values * encoder.block_bytes, std::byte{0});
  run.weights.clear();
  for (size_t i = 0; encoder.weighted && i < kRowValues; ++i) {
    run.weights.push_back(0.25f + static_cast<float>(i * 37 % 101) / 50.0f);
  }
  Timings timings;
  timings.data = options.weights.empty() ? options.data : "file";
  for (const SimdTarget target : simd_targets()) {
    if (target == SimdTarget::kScalar) continue;
    if (wanted(options.targets, simd_target_name(target))) timings.targets.push_back({target, {}});
  }
  for (int i = 0; i < options.rounds; ++i) run_round(encoder, peer, run, timings);
  report(encoder, timings, csv);
  return timings.ggml_same && std::all_of(timings.targets.begin(), timings.targets.end(),
                                          [](const Timing& timing) { return timing.same; });
}

Result<std::vector<float>> load_weights(const Options& options) {
  if (options.weights.empty()) return made_weights(options.data, kWeights);
  return weights_of(options.weights, kWeights);
}

int run(const Options& options) {
  const auto values = load_weights(options);
  if (!values) {
    fmt::print(stderr, "encode_bench: {}\n", values.error().text());
    return 2;
  }
  std::optional<GgmlPeer> peer;
  const char* library = std::getenv("CKPT_GGML_LIB");
  const auto opened = GgmlPeer::open(library != nullptr ? library : "libggml-base.so");
  if (opened) peer = *opened;
  if (!peer) fmt::print("peer missing: set CKPT_GGML_LIB ({})\n", opened.error().text());
  std::optional<std::ofstream> csv;
  if (!options.csv.empty()) csv.emplace(options.csv, std::ios::app);
  if (csv && csv->tellp() == 0) {
    *csv << "machine,compiler,data,type,target,ours_mws,ggml_mws,scalar_mws,x_ggml,x_scalar,"
            "bytes\n";
  }
  fmt::print("{}, {}\n{:14} {:7} {:>9} {:>9} {:>9} {:>8} {:>8}\n", machine_name(), kCompiler,
             "type", "target", "Mw/s", "ggml", "scalar", "x ggml", "x scalar");
  Run state{*values, {}, {}};
  bool same = true;
  for (const Encoder& encoder : all_encoders()) {
    if (!wanted(options.types, encoder.name)) continue;
    same = bench(encoder, peer ? &*peer : nullptr, state, options, csv ? &*csv : nullptr) && same;
  }
  const Bf16RowChoice choice{[&](std::string_view name) { return wanted(options.types, name); },
                             [&](std::string_view name) { return wanted(options.targets, name); },
                             options.rounds};
  return report_bf16_rows(choice) && same ? 0 : 1;
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  ckpt::Options options;
  CLI::App app("Speed of the encoders");
  app.add_option("--weights", options.weights, "take the BF16 matrices of this safetensors file");
  app.add_option("--data", options.data, "normal, zero, one_inf, tiny, all_tiny");
  app.add_option("--types", options.types, "only these")->delimiter(',');
  app.add_option("--targets", options.targets, "only these")->delimiter(',');
  app.add_option("--rounds", options.rounds, "how often everything is run");
  app.add_option("--csv", options.csv, "append rows to this file");
  CLI11_PARSE(app, argc, argv);
  return ckpt::run(options);
}
