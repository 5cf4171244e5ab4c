#include "tools/report/values.h"

#include <algorithm>

#include "plan/conversion/value_sides.h"
#include "quantizers/quantizers.h"
#include "tools/compare/value_pairs.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

constexpr size_t kWorstShown = 20;

// Indices of the pairs that are furthest apart.
std::vector<size_t> worst_of(const std::vector<ValueDifference>& differences) {
  std::vector<size_t> out;
  for (size_t i = 0; i < differences.size(); ++i) {
    if (differences[i].sum_squared_errors > 0) out.push_back(i);
  }
  std::ranges::stable_sort(out, [&](size_t a, size_t b) {
    return differences[a].relative() > differences[b].relative();
  });
  out.resize(std::min(out.size(), kWorstShown));
  return out;
}

Status add_histograms(const std::vector<ValuePair>& pairs, const CompareOptions& options,
                      ReportedValues& out) {
  std::vector<HistogramLimits> limits;
  for (WorstTensor& worst : out.worst) {
    worst.limits = {worst.difference.max_value, worst.difference.max_error};
    limits.push_back(worst.limits);
  }
  const Codec& floats = plain_codec(all_codecs(), Dtype::kF32);
  CKPT_ASSIGN(const std::vector<ValueHistograms> histograms,
              value_histograms(pairs, limits, floats, options));
  for (size_t i = 0; i < histograms.size(); ++i) out.worst[i].histograms = histograms[i];
  return {};
}

}  // namespace

Result<ReportedValues> report_values(const Checkpoint& base, const Checkpoint& checkpoint,
                                     Cells& cells, const Console& console,
                                     const CommonOptions& common) {
  CKPT_ASSIGN(const ValueSides sides, value_sides(base, checkpoint));
  for (const std::string& note : sides.notes) console.warn(note);
  const PairedTensors pairs = pair_tensors(sides.a, sides.b, "*");
  if (pairs.values.empty()) {
    return misuse_hint("the checkpoint that it was made from",
                       "none of {} tensors can be compared with --against: {}",
                       checkpoint.tensors.size(),
                       pairs.apart.empty() ? "there are none" : pairs.apart.front().why);
  }
  if (!pairs.apart.empty()) {
    console.warn(fmt::format("{} tensors cannot be compared, among them '{}': {}",
                             pairs.apart.size(), pairs.apart.front().tensor,
                             pairs.apart.front().why));
  }
  ProgressLine progress(console, "comparing");
  CompareOptions options{common.threads, common.memory_bytes, &interrupted, &progress};
  CKPT_ASSIGN(const std::vector<ValueDifference> differences,
              compare_values(pairs.values, plain_codec(all_codecs(), Dtype::kF32), options));
  ReportedValues out;
  out.compared = pairs.values.size();
  out.not_compared = pairs.apart.size();
  const auto cell_of = [&](const Tensor& tensor) -> std::optional<size_t> {
    const auto found = cells.of_tensor.find(tensor.name);
    return found == cells.of_tensor.end() ? std::nullopt : std::optional(found->second);
  };
  for (size_t i = 0; i < differences.size(); ++i) {
    combine(out.total, differences[i]);
    const auto cell = cell_of(*pairs.values[i].b);
    if (!cell) continue;
    ++cells.cells[*cell].compared;
    combine(cells.cells[*cell].difference, differences[i]);
  }
  std::vector<ValuePair> worst;
  for (const size_t i : worst_of(differences)) {
    const ValuePair& pair = pairs.values[i];
    worst.push_back(pair);
    out.worst.push_back({pair.b->name, cell_of(*pair.b), pair.b->values(), differences[i], {}, {}});
  }
  options.progress = nullptr;
  CKPT_TRY(add_histograms(worst, options, out));
  progress.clear();
  return out;
}

}  // namespace ckpt
