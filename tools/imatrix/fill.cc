#include "tools/imatrix/fill.h"

#include <algorithm>

#include "tools/imatrix/merge.h"

namespace ckpt {
namespace {

// Sum over the matrices that saw enough, a column each, over their counts; empty where none did.
std::vector<float> seen_mean(const ImatrixEntry& entry, const std::vector<float>& sums,
                             int64_t least) {
  const uint64_t columns = entry.columns();
  std::vector<double> total(columns, 0);
  double count = 0;
  for (size_t m = 0; m < entry.counts.size(); ++m) {
    if (entry.counts[m] < least) continue;
    count += static_cast<double>(entry.counts[m]);
    for (size_t c = 0; c < columns; ++c) total[c] += static_cast<double>(sums[m * columns + c]);
  }
  std::vector<float> out;
  if (count <= 0) return out;
  for (const double sum : total) out.push_back(static_cast<float>(sum / count));
  return out;
}

uint64_t fill_entry(ImatrixEntry& entry, FillWith with, int64_t least) {
  const uint64_t columns = entry.columns();
  std::vector<float> squares, inputs;
  if (with == FillWith::kMean) {
    squares = seen_mean(entry, entry.sums, least);
    if (!entry.input_sums.empty()) inputs = seen_mean(entry, entry.input_sums, least);
  }
  if (squares.empty()) squares.assign(columns, 1.0f);
  if (inputs.empty()) inputs.assign(columns, 0.0f);
  uint64_t filled = 0;
  for (size_t m = 0; m < entry.counts.size(); ++m) {
    if (entry.counts[m] >= least) continue;
    const auto begin = static_cast<std::ptrdiff_t>(m * columns);
    std::copy(squares.begin(), squares.end(), entry.sums.begin() + begin);
    if (!entry.input_sums.empty()) {
      std::copy(inputs.begin(), inputs.end(), entry.input_sums.begin() + begin);
    }
    entry.counts[m] = 1;
    ++filled;
  }
  return filled;
}

}  // namespace

Result<uint64_t> fill_imatrix(ImatrixSums& imatrix, FillWith with, int64_t least) {
  if (imatrix.is_legacy) {
    return fail_with_hint(ErrorCode::kUnsupported, "the .gguf that llama-imatrix writes",
                          "{}: a legacy file has one count for all experts of a tensor; nothing "
                          "says which of them saw no input",
                          imatrix.file);
  }
  uint64_t filled = 0;
  for (auto& [name, entry] : imatrix.entries) {
    const bool is_of_experts = entry.counts.size() > 1;
    filled += fill_entry(entry, with, is_of_experts ? least : 1);
  }
  const uint64_t before = imatrix.other_keys.find_unsigned(kFilledKey).value_or(0);
  if (filled > 0) {
    imatrix.other_keys.set(std::string(kFilledKey),
                           MetaValue::u32(std::min<uint64_t>(before + filled, UINT32_MAX)));
  }
  return filled;
}

}  // namespace ckpt
