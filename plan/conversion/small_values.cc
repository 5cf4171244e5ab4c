// Finds weights whose values are too small for the scales of their type. ggml's NVFP4 has no scale
// per tensor, so blocks whose largest value is far below 6 x 2^-9 lose precision or become zero.
// Measured on a sample of each weight that an output stores in this type.
#include <algorithm>
#include <thread>
#include <vector>

#include "core/base/counted.h"
#include "core/chunks/evaluate.h"
#include "core/chunks/written_source.h"
#include "core/computed/computed_source.h"
#include "core/engine/compare.h"
#include "plan/conversion/pipeline.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint64_t kReadValues = uint64_t{1} << 14, kReadRuns = 4;  // per weight
constexpr unsigned kReadingThreads = 8;
// Rounding to E2M1 alone has an error of a tenth of the values: a hundredth of their squares.
constexpr double kMuchError = 1.0 / 16;

struct LostValues {
  double signal = 0, noise = 0;
  uint64_t values = 0, zeroed = 0;  // values other than zero
  bool are_many() const { return noise > kMuchError * signal; }
  double share() const { return static_cast<double>(zeroed) / static_cast<double>(values); }
};

// Whether the output encodes the weight as NVFP4 and sampling it does not read the entire tensor.
bool is_encoded_nvfp4(const Tensor& tensor) {
  if (tensor.is_stored() || plain_dtype(*tensor.codec) != Dtype::kNvfp4) return false;
  bool scans = tensor.recoded().repack != nullptr;
  each_slice(tensor.stored_tensor(),
             [&](const Slice& slice) { scans = scans || scans_when_read(*slice.source); });
  return !scans;
}

Result<LostValues> lost_values(const Tensor& made) {
  CKPT_ASSIGN(const Tensor exact, recode(made, plain_codec(all_codecs(), Dtype::kF32)));
  CKPT_ASSIGN(const RowSample before, sample_rows(exact, kReadValues, kReadRuns));
  CKPT_ASSIGN(const RowSample after, sample_rows(made, kReadValues, kReadRuns));
  LostValues out;
  if (before.rows != after.rows) return out;
  for (size_t i = 0; i < before.values.size(); ++i) {
    const double value = before.values[i], error = value - double{after.values[i]};
    out.signal += value * value;
    out.noise += error * error;
    out.values += value != 0 ? 1u : 0u;
    out.zeroed += value != 0 && after.values[i] == 0 ? 1u : 0u;
  }
  return out;
}

}  // namespace

Result<std::string> note_of_small_values(const Output& output) {
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : output.checkpoint.tensors) {
    if (is_encoded_nvfp4(tensor)) tensors.push_back(&tensor);
  }
  std::vector<LostValues> lost(tensors.size());
  const unsigned threads = std::min(kReadingThreads, std::thread::hardware_concurrency());
  CKPT_TRY(for_each_parallel(tensors.size(), threads, [&](size_t i) -> Status {
    auto found = lost_values(*tensors[i]);
    if (found) lost[i] = *found;
    const bool is_measured = found || found.error().code == ErrorCode::kUnsupported;
    return is_measured ? Status() : Failure(std::move(found.error()));
  }));
  LostValues all;
  uint64_t count = 0;
  size_t worst = 0;
  for (size_t i = 0; i < lost.size(); ++i) {
    if (!lost[i].are_many()) continue;
    if (count++ == 0 || lost[i].share() > lost[worst].share()) worst = i;
    all.values += lost[i].values;
    all.zeroed += lost[i].zeroed;
  }
  if (count == 0) return std::string();
  return fmt::format(
      "nvfp4: {} of {} {} values too small for the scales of blocks, which begin at 2^-9: {:.0f} % "
      "of them become 0 (maximum: {:.0f} %, '{}'); --to nvfp4-w4a16 of a folder stores a scale for "
      "each tensor too, and q4_0 has float16 scales",
      count, counted(tensors.size(), "weight"), count == 1 ? "has" : "have", 100 * all.share(),
      100 * lost[worst].share(), tensors[worst]->name);
}

}  // namespace ckpt
