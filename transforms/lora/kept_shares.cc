#include "transforms/lora/kept_shares.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/nearest.h"
#include "core/chunks/evaluate.h"

namespace ckpt {
namespace {

Result<std::vector<float>> values_of_row(Tensor tensor, uint64_t row) {
  if (tensor.is_stored()) {
    CKPT_ASSIGN(tensor, take_rows(tensor, row, 1));
    return read_values(tensor, tensor.row_values());
  }
  Recoded recoded = tensor.recoded();
  CKPT_ASSIGN(Tensor from, take_rows(*recoded.from, row, 1));
  tensor.shape = from.shape;
  recoded.from = std::make_shared<const Tensor>(std::move(from));
  tensor.origin = std::move(recoded);
  CKPT_ASSIGN(RowSample sample, sample_rows(tensor, UINT64_MAX));
  return std::move(sample.values);
}

// How much of what an adapter adds is left where quantized weights are quantized again.
std::string kept_of(const std::vector<MergedWeight>& merged) {
  const auto least = std::ranges::min_element(merged, {}, &MergedWeight::kept);
  double sum = 0;
  std::vector<std::string> below;
  std::set<std::string_view> codecs;
  for (const MergedWeight& each : merged) {
    sum += each.kept;
    codecs.insert(each.codec);
    if (each.is_below_rounding) below.push_back(each.tensor);
  }
  std::string out = fmt::format(
      "after encoding as {}, {} weights keep on average {:.0f} % of the adapter's change "
      "(minimum: {:.0f} %, '{}')",
      fmt::join(codecs, ", "), merged.size(), 100 * sum / static_cast<double>(merged.size()),
      100 * least->kept, least->tensor);
  if (!below.empty()) {
    out += fmt::format(
        "; in {} of them it is smaller than the rounding error ({}): merge into the weights before "
        "quantizing instead",
        below.size(), first_names(below));
  }
  return out;
}

}  // namespace

// By the projection of what is left on what was added, over some rows.
Status KeptShares::add(const EncodedAgain& weight) {
  const uint64_t limit_values =
      std::clamp(kMeasuredValues / (all_.size() + 1), kLeastMeasured, kMostMeasured);
  CKPT_ASSIGN(const RowSample after, sample_rows(weight.encoded, limit_values));
  const uint64_t columns = weight.base.row_values();
  double product = 0, squares = 0, error = 0;
  for (size_t i = 0; i < after.rows.size(); ++i) {
    CKPT_ASSIGN(const std::vector<float> before, values_of_row(weight.base, after.rows[i]));
    CKPT_ASSIGN(const std::vector<float> meant, values_of_row(weight.merged, after.rows[i]));
    for (size_t k = 0; k < columns; ++k) {
      const double kept = after.values[i * columns + k];
      const double delta = double{meant[k]} - before[k];
      product += (kept - before[k]) * delta;
      squares += delta * delta;
      error += (kept - meant[k]) * (kept - meant[k]);
    }
  }
  if (squares == 0) return {};
  all_.push_back({weight.encoded.name, std::string(weight.encoded.codec->name), product / squares,
                  squares < error});
  return {};
}

void KeptShares::report(const Context& context) const {
  if (!all_.empty()) context.note("lora: " + kept_of(all_));
  if (context.merged != nullptr) {
    context.merged->insert(context.merged->end(), all_.begin(), all_.end());
  }
}

}  // namespace ckpt
