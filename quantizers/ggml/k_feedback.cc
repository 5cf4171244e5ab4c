#include "quantizers/ggml/k_feedback.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/model/float_convert.h"
#include "quantizers/ggml/k_levels.h"
#include "quantizers/rounding.h"

namespace ckpt {
namespace {

constexpr uint32_t kFeedbackBlock = 256;
// Rows that are rounded beside each other. Each goes its own way; numbers that lie together are
// computed together.
constexpr size_t kLanes = 8;

// Stored value = scale code - minimum, of the values of one sub-block.
struct SubBlock {
  float scale, minimum;
};

template <class Block>
constexpr uint32_t kSubValues = 32;
template <>
constexpr uint32_t kSubValues<BlockQ6K> = 16;

template <class Block>
SubBlock sub_block_of(const Block& block, uint32_t sub) {
  if constexpr (std::is_same_v<Block, BlockQ6K>) {
    const float scale = float_from_f16(block.d) * static_cast<float>(block.scales[sub]);
    return {scale, 0};
  } else {
    const Levels levels = unpack_levels(block.scales);
    return {float_from_f16(block.d) * static_cast<float>(levels.scales[sub]),
            float_from_f16(block.dmin) * static_cast<float>(levels.minimums[sub])};
  }
}

// Codes as they are packed; those of Q6_K stand for numbers 32 below.
template <class Block>
constexpr int32_t kCodeOffset = std::is_same_v<Block, BlockQ6K> ? 32 : 0;
template <class Block>
constexpr int32_t kLargestCode = kTopCode<Block>;
template <>
constexpr int32_t kLargestCode<BlockQ6K> = 63;

template <class Block>
float stored_value(const SubBlock& sub, uint8_t code) {
  return sub.scale * static_cast<float>(code - kCodeOffset<Block>) - sub.minimum;
}

// The nearest code; `given` where the scale is 0 and all stand for one number.
template <class Block>
uint8_t nearest_code(const SubBlock& sub, float value, uint8_t given) {
  if (sub.scale == 0) return given;
  const float exact = (value + sub.minimum) / sub.scale;
  constexpr int32_t kLow = -kCodeOffset<Block>, kHigh = kLargestCode<Block> + kLow;
  if (!(exact > static_cast<float>(kLow))) return 0;
  if (exact > static_cast<float>(kHigh)) return static_cast<uint8_t>(kHigh - kLow);
  return static_cast<uint8_t>(round_and_clamp(exact, kLow, kHigh) - kLow);
}

// Codes and sub-blocks of the rows beside each other, one row after the other.
struct Lanes {
  std::vector<uint8_t> codes;  // [kLanes][columns]
  std::vector<SubBlock> subs;  // [kLanes][columns / values of a sub-block]
};

struct Run {
  const float* factors;  // [columns][columns]
  uint64_t first;
  uint32_t columns;
};

// Rounds `values` [column][lane] to the codes that code_of(lane, column, value) gives, correcting
// those that follow; `costs` are what each lane then costs.
template <class Block, class CodeOf, class SubOf>
void round_lanes(const Run& run, std::vector<float>& values, const SubOf& sub_of,
                 const CodeOf& code_of, float* costs) {
  std::fill_n(costs, kLanes, 0.0f);
  for (uint32_t i = 0; i < run.columns; ++i) {
    const float* factors = run.factors + uint64_t{i} * run.columns;
    float errors[kLanes];
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i * kLanes + lane];
      const uint8_t code = code_of(lane, i, value);
      errors[lane] = value - stored_value<Block>(sub_of(lane, i), code);
      costs[lane] = costs[lane] + factors[i] * (errors[lane] * errors[lane]);
    }
    for (uint32_t k = i + 1; k < run.columns; ++k) {
      const float factor = factors[k];
      float* later = values.data() + k * kLanes;
      for (size_t lane = 0; lane < kLanes; ++lane) {
        later[lane] = later[lane] - errors[lane] * factor;
      }
    }
  }
}

template <class Block>
class FeedbackRounding {
 public:
  FeedbackRounding(ConstFloatRows rows, const ErrorFeedback& feedback, Block* blocks)
      : rows_(rows), feedback_(feedback), blocks_(blocks) {
    lanes_.codes.resize(kLanes * rows.row_values);
    lanes_.subs.resize(kLanes * rows.row_values / kSubValues<Block>);
  }

  // Rows [first, first + kLanes), those behind the last left out.
  void round(uint64_t first) {
    const uint64_t row_blocks = rows_.row_values / kFeedbackBlock;
    count_ = std::min<uint64_t>(kLanes, rows_.rows() - first);
    first_ = first;
    for (size_t lane = 0; lane < count_; ++lane) {
      for (uint64_t b = 0; b < row_blocks; ++b)
        unpack(lane, b, blocks_[(first + lane) * row_blocks + b]);
    }
    const uint32_t n = feedback_.run_values;
    for (uint64_t column = 0; column < rows_.row_values; column += n) {
      round_run({feedback_.factors.data() + column * n, column, n});
    }
    for (size_t lane = 0; lane < count_; ++lane) {
      for (uint64_t b = 0; b < row_blocks; ++b) {
        pack_codes(codes(lane) + b * kFeedbackBlock, blocks_[(first + lane) * row_blocks + b]);
      }
    }
  }

 private:
  uint8_t* codes(size_t lane) { return lanes_.codes.data() + lane * rows_.row_values; }

  void unpack(size_t lane, uint64_t b, const Block& block) {
    unpack_codes(block, codes(lane) + b * kFeedbackBlock);
    constexpr uint32_t kSubs = kFeedbackBlock / kSubValues<Block>;
    const uint64_t row_subs = rows_.row_values / kSubValues<Block>;
    for (uint32_t sub = 0; sub < kSubs; ++sub) {
      lanes_.subs[lane * row_subs + b * kSubs + sub] = sub_block_of(block, sub);
    }
  }

  void fill(const Run& run, std::vector<float>& values) const {
    values.assign(uint64_t{run.columns} * kLanes, 0);
    for (size_t lane = 0; lane < count_; ++lane) {
      const float* row = rows_.values.data() + (first_ + lane) * rows_.row_values + run.first;
      for (uint32_t i = 0; i < run.columns; ++i) values[i * kLanes + lane] = row[i];
    }
  }

  void round_run(const Run& run) {
    const uint64_t row_subs = rows_.row_values / kSubValues<Block>;
    const auto sub_of = [&](size_t lane, uint32_t i) -> const SubBlock& {
      return lanes_.subs[lane * row_subs + (run.first + i) / kSubValues<Block>];
    };
    float given_costs[kLanes], costs[kLanes];
    fill(run, values_);
    round_lanes<Block>(
        run, values_, sub_of,
        [&](size_t lane, uint32_t i, float) { return codes(lane)[run.first + i]; }, given_costs);
    fill(run, values_);
    found_.resize(run.columns * kLanes);
    round_lanes<Block>(
        run, values_, sub_of,
        [&](size_t lane, uint32_t i, float value) {
          return found_[i * kLanes + lane] =
                     nearest_code<Block>(sub_of(lane, i), value, codes(lane)[run.first + i]);
        },
        costs);
    for (size_t lane = 0; lane < count_; ++lane) {
      if (!(costs[lane] < given_costs[lane])) continue;
      for (uint32_t i = 0; i < run.columns; ++i) {
        codes(lane)[run.first + i] = found_[i * kLanes + lane];
      }
    }
  }

  ConstFloatRows rows_;
  const ErrorFeedback& feedback_;
  Block* blocks_;
  Lanes lanes_;
  uint64_t first_ = 0;
  size_t count_ = 0;
  std::vector<float> values_;
  std::vector<uint8_t> found_;
};

template <class Block>
void round_all(ConstFloatRows rows, const ErrorFeedback& feedback, Block* blocks) {
  if (rows.values.empty()) return;
  FeedbackRounding<Block> rounding(rows, feedback, blocks);
  for (uint64_t row = 0; row < rows.rows(); row += kLanes) rounding.round(row);
}

}  // namespace

void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ4K* blocks) {
  round_all(rows, feedback, blocks);
}
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ5K* blocks) {
  round_all(rows, feedback, blocks);
}
void round_with_feedback(ConstFloatRows rows, const ErrorFeedback& feedback, BlockQ6K* blocks) {
  round_all(rows, feedback, blocks);
}

}  // namespace ckpt
