#include "transforms/packed/second_rounding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/chunks/evaluate.h"

namespace ckpt {
namespace {

constexpr uint64_t kComparedBlock = 16;
// Limit for all weights together, and minimum for each.
constexpr uint64_t kMeasuredValues = uint64_t{1} << 28, kLeastMeasured = uint64_t{1} << 12;
constexpr size_t kNamedWorst = 3;

struct BlockError {
  ValueError squares;
  uint64_t blocks = 0, exact_blocks = 0, values = 0;
  bool is_exact() const { return exact_blocks == blocks; }
  void add(const BlockError& other) {
    squares.signal += other.squares.signal;
    squares.noise += other.squares.noise;
    blocks += other.blocks;
    exact_blocks += other.exact_blocks;
    values += other.values;
  }
};

BlockError compare_blocks(const std::vector<float>& made, const std::vector<float>& codes) {
  BlockError out;
  for (size_t at = 0; at < codes.size(); at += kComparedBlock) {
    double noise = 0;
    for (size_t i = at; i < std::min(at + kComparedBlock, codes.size()); ++i) {
      const double difference = static_cast<double>(made[i]) - static_cast<double>(codes[i]);
      noise += difference * difference;
      out.squares.signal += static_cast<double>(codes[i]) * static_cast<double>(codes[i]);
    }
    out.squares.noise += noise;
    ++out.blocks;
    out.exact_blocks += noise == 0 ? 1 : 0;
  }
  out.values = codes.size();
  return out;
}

Result<BlockError> measured(const Tensor& made, const Tensor& codes, uint64_t limit_values) {
  CKPT_ASSIGN(const RowSample after, sample_rows(made, limit_values));
  CKPT_ASSIGN(const RowSample before, sample_rows(codes, limit_values));
  CKPT_CHECK(after.rows == before.rows);  // both have the same limit, so the same sample
  return compare_blocks(after.values, before.values);
}

// Weights of one source kind that became the same type.
class RoundingTally {
 public:
  void add(const Tensor& tensor, const BlockError& error) {
    all_.add(error);
    total_values_ += tensor.values();
    exact_weights_ += error.is_exact() ? 1 : 0;
    errors_.emplace_back(error.squares.relative(), tensor.name);
  }
  bool empty() const { return errors_.empty(); }
  const std::string& first() const { return errors_[0].second; }
  size_t weights() const { return errors_.size(); }

  // "relative squared error 7.9e-03; 0 weights and 31 of 24576 blocks of 16 keep their values".
  std::string text(std::string_view worst = "") const {
    const std::string of =
        all_.values == total_values_
            ? ""
            : fmt::format(", measured on {} of {} values", all_.values, total_values_);
    if (all_.is_exact()) return fmt::format("all blocks of 16 keep their values{}", of);
    return fmt::format(
        "relative squared error {:.2e}{}; {} weights and {} of {} blocks of 16 keep their values{}",
        all_.squares.relative(), worst, exact_weights_, all_.exact_blocks, all_.blocks, of);
  }

  // ", at most 8.0e-03 of 'x', 7.9e-03 of 'y'".
  std::string worst() const {
    auto sorted = errors_;
    std::ranges::stable_sort(sorted,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> out;
    for (size_t i = 0; i < std::min(sorted.size(), kNamedWorst); ++i) {
      out.push_back(fmt::format("{:.2e} of '{}'", sorted[i].first, sorted[i].second));
    }
    return fmt::format(", at most {}", fmt::join(out, ", "));
  }

 private:
  BlockError all_;
  uint64_t exact_weights_ = 0, total_values_ = 0;
  std::vector<std::pair<double, std::string>> errors_;
};

}  // namespace

Status note_second_rounding(Checkpoint& checkpoint, const SourceWeights& weights,
                            const RoundingWords& words, const Context& context) {
  if (weights.empty()) return {};
  const uint64_t limit =
      std::clamp(kMeasuredValues / weights.size(), kLeastMeasured, kSampleValues);
  RoundingTally plain, quantized;
  for (Tensor& tensor : checkpoint.tensors) {
    const auto found = weights.find(tensor.name);
    if (found == weights.end() || tensor.is_stored()) continue;
    CKPT_ASSIGN(const BlockError error, measured(tensor, found->second, limit));
    // The code that writes them rejects Inf and NaN unless options permit them.
    if (!std::isfinite(error.squares.noise + error.squares.signal)) continue;
    (tensor.is_plain_float() ? plain : quantized).add(tensor, error);
    Recoded made = tensor.recoded();
    made.second_error = error.squares.relative();
    tensor.origin = std::move(made);
  }
  if (!plain.empty()) {
    context.note("{} {} {} (the first: '{}'): {}", plain.weights(), words.weights, words.stay,
                 plain.first(), plain.text());
  }
  if (quantized.empty()) return {};
  context.note("{} {} were decoded and rounded a second time: {}", quantized.weights(),
               words.weights, quantized.text(quantized.worst()));
  context.note("--json has the error of each; ckpt diff --values IN OUT measures them whole");
  return {};
}

}  // namespace ckpt
