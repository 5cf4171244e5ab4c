#include "quantizers/ggml/k/k_feedback.h"

#include <algorithm>
#include <vector>

#include "quantizers/ggml/k/k_feedback_run.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kFeedbackBlock = 256;

// The nearest number, or `given` if the scale is 0, where all numbers represent the same value.
float nearest_number(const KRun& run, const KSubBlock& sub, float value, float given) {
  if (sub.scale == 0) return given;
  const float exact = (value + sub.minimum) / sub.scale;
  if (!(exact > run.low)) return run.low;
  if (exact > run.high) return run.high;
  return static_cast<float>(round_to_int(exact));
}

// Rounds `values` of one row to number_of(column, value, sub-block), turning them into remainders.
// Returns the cost.
template <class NumberOf>
float round_row(const KRun& run, const KRunRows& rows, size_t lane, std::vector<float> values,
                const NumberOf& number_of) {
  float cost = 0;
  for (uint32_t i = 0; i < run.columns; ++i) {
    const float* const factors = run.factors + uint64_t{i} * run.columns;
    const size_t at = (run.before + i) / run.sub_values * kRunRows + lane;
    const KSubBlock sub{rows.scales[at], rows.minimums[at]};
    const float number = number_of(i, values[i], sub);
    const float error = values[i] - (sub.scale * number - sub.minimum);
    cost = cost + factors[i] * (error * error);
    for (uint32_t k = i + 1; k < run.columns; ++k) values[k] = values[k] - error * factors[k];
  }
  return cost;
}

template <class Block>
class FeedbackRounding {
 public:
  FeedbackRounding(ConstFloatRows rows, const ErrorFeedback& feedback, Block* blocks)
      : rows_(rows),
        feedback_(feedback),
        blocks_(blocks),
        row_blocks_(rows.row_values / kFeedbackBlock),
        row_subs_(rows.row_values / Block::kSubValues),
        codes_(kRunRows * rows.row_values),
        scales_(kRunRows * row_subs_),
        minimums_(scales_.size()),
        values_(uint64_t{feedback.run_values} * kRunRows),
        numbers_(values_.size()) {}

  // Rounds rows [first, first + kRunRows), skipping those after the last row.
  void round(uint64_t first) {
    first_ = first;
    count_ = std::min<uint64_t>(kRunRows, rows_.rows() - first);
    each_block([this](size_t lane, uint64_t b, Block& block) { unpack(lane, b, block); });
    for (uint64_t at = 0; at < rows_.row_values; at += feedback_.run_values) round_run(at);
    each_block([this](size_t lane, uint64_t b, Block& block) {
      pack_codes(codes(lane) + b * kFeedbackBlock, block);
    });
  }

 private:
  uint8_t* codes(size_t lane) { return codes_.data() + lane * rows_.row_values; }

  template <class Use>
  void each_block(const Use& use) {
    for (size_t lane = 0; lane < count_; ++lane) {
      for (uint64_t b = 0; b < row_blocks_; ++b) {
        use(lane, b, blocks_[(first_ + lane) * row_blocks_ + b]);
      }
    }
  }

  void unpack(size_t lane, uint64_t b, const Block& block) {
    unpack_codes(block, codes(lane) + b * kFeedbackBlock);
    constexpr uint32_t kSubs = kFeedbackBlock / Block::kSubValues;
    for (uint32_t s = 0; s < kSubs; ++s) {
      const KSubBlock sub = sub_block_of(block, s);
      scales_[(b * kSubs + s) * kRunRows + lane] = sub.scale;
      minimums_[(b * kSubs + s) * kRunRows + lane] = sub.minimum;
    }
  }

  // Rounds the run that begins at column `first`. Lanes without a row keep earlier content.
  void round_run(uint64_t first) {
    const uint32_t n = feedback_.run_values;
    constexpr int32_t kLowest = Block::kLowest;
    for (size_t lane = 0; lane < count_; ++lane) {
      const float* const row = rows_.values.data() + (first_ + lane) * rows_.row_values + first;
      for (uint32_t i = 0; i < n; ++i) {
        values_[i * kRunRows + lane] = row[i];
        numbers_[i * kRunRows + lane] = static_cast<float>(codes(lane)[first + i] + kLowest);
      }
    }
    const uint64_t sub = first / Block::kSubValues * kRunRows;
    round_k_run({feedback_.factors.data() + first * n, n, Block::kSubValues,
                 static_cast<uint32_t>(first % Block::kSubValues), kLowest, Block::kTop + kLowest},
                {values_.data(), scales_.data() + sub, minimums_.data() + sub, numbers_.data()});
    for (size_t lane = 0; lane < count_; ++lane) {
      for (uint32_t i = 0; i < n; ++i) {
        const float number = numbers_[i * kRunRows + lane];
        codes(lane)[first + i] = static_cast<uint8_t>(static_cast<int32_t>(number) - kLowest);
      }
    }
  }

  ConstFloatRows rows_;
  const ErrorFeedback& feedback_;
  Block* blocks_;
  uint64_t row_blocks_, row_subs_;
  std::vector<uint8_t> codes_;            // [kRunRows][columns]
  std::vector<float> scales_, minimums_;  // [sub-blocks][kRunRows]
  std::vector<float> values_, numbers_;   // [columns per run][kRunRows]
  uint64_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace

void round_k_run_scalar(const KRun& run, const KRunRows& rows) {
  std::vector<float> values(run.columns), made(run.columns);
  for (size_t lane = 0; lane < kRunRows; ++lane) {
    for (uint32_t i = 0; i < run.columns; ++i) values[i] = rows.values[i * kRunRows + lane];
    const auto given = [&](uint32_t i) -> float& { return rows.numbers[i * kRunRows + lane]; };
    const float given_cost = round_row(
        run, rows, lane, values, [&](uint32_t i, float, const KSubBlock&) { return given(i); });
    const float cost =
        round_row(run, rows, lane, values, [&](uint32_t i, float value, const KSubBlock& sub) {
          return made[i] = nearest_number(run, sub, value, given(i));
        });
    if (!(cost < given_cost)) continue;
    for (uint32_t i = 0; i < run.columns; ++i) given(i) = made[i];
  }
}

template <class Block>
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, Block* blocks) {
  if (rows.values.empty()) return;
  FeedbackRounding<Block> rounding(rows, feedback, blocks);
  for (uint64_t row = 0; row < rows.rows(); row += kRunRows) rounding.round(row);
}
#define CKPT_ROUNDED(name, Block) \
  template void round_with_feedback(ConstFloatRows, const ErrorFeedback&, Block*);
CKPT_K_TYPES(CKPT_ROUNDED)
#undef CKPT_ROUNDED

}  // namespace ckpt
