// The search of k_search.h for Q6_K: one block of 16 sub-blocks with a signed scale each.
//
// For fixed codes q (B = sum w q^2, C = sum w q x) the best scale of a sub-block is s = C / B, and
// another scale s + t adds B t^2 to the error. Scales of a block are d S: d = sum S C / sum S^2 B.
//
// Note: codes are -32..31 here but 0..63 in the bytes; the lanes' minimums are 0, so products are
// the same as when read back.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_search.h"

namespace ckpt {
namespace {

constexpr size_t kBlock = 256, kSub = 16, kSubs = 16;
static_assert(kSubs == kSearchSubs);
constexpr size_t kSweeps = 2, kRestarts = 2;
constexpr int kSteps = 24;  // other d: scale of largest magnitude / -128.5 ... / -94

// The stored scales of a block, and the error of each sub-block under them.
struct Choice {
  uint16_t d;
  std::array<int8_t, kSubs> scales;
  std::array<float, kSubs> errors;

  float error() const {
    float sum = 0;
    for (const float each : errors) sum += each;
    return sum;
  }
};

SearchFit fit_of(uint16_t d, const std::array<int8_t, kSubs>& scales) {
  SearchFit fit{};
  const float step = float_from_f16(d);
  for (size_t j = 0; j < kSubs; ++j) fit.scales[j] = step * static_cast<float>(scales[j]);
  return fit;
}

void rate(const SearchGroup& group, Choice& choice) {
  const SearchFit fit = fit_of(choice.d, choice.scales);
  SearchErrors found;
  find_search_errors(group, std::span(&fit, 1), &found);
  std::copy(std::begin(found.errors), std::end(found.errors), choice.errors.begin());
}

void sweep(const SearchGroup& group, Choice& choice) {
  constexpr int kOffsets[] = {-2, -1, 1, 2};
  constexpr size_t kFits = std::size(kOffsets);
  std::array<std::array<int8_t, kSubs>, kFits> scales;
  std::array<SearchFit, kFits> fits;
  std::array<SearchErrors, kFits> found;
  for (size_t k = 0; k < kFits; ++k) {
    for (size_t j = 0; j < kSubs; ++j) {
      scales[k][j] = static_cast<int8_t>(std::clamp(choice.scales[j] + kOffsets[k], -128, 127));
    }
    fits[k] = fit_of(choice.d, scales[k]);
  }
  find_search_errors(group, fits, found.data());
  for (size_t i = 0; i < kFits * kSubs; ++i) {
    const size_t k = i / kSubs, j = i % kSubs;
    if (!(found[k].errors[j] < choice.errors[j])) continue;
    choice.errors[j] = found[k].errors[j];
    choice.scales[j] = scales[k][j];
  }
}

// Solves for d by least squares.
void refit(const SearchGroup& group, Choice& choice) {
  SearchSums sums;
  find_search_sums(group, fit_of(choice.d, choice.scales), sums);
  double above = 0, below = 0;
  for (size_t j = 0; j < kSubs; ++j) {
    const double scale = choice.scales[j];
    above += scale * static_cast<double>(sums.values[j]);
    below += scale * scale * static_cast<double>(sums.squares[j]);
  }
  if (!(below > 0 && std::fabs(above) < 65504 * below)) return;
  Choice other = choice;
  other.d = f16_from_float(static_cast<float>(above / below));
  if (other.d == choice.d) return;
  rate(group, other);
  if (other.error() < choice.error()) choice = other;
}

void descend(const SearchGroup& group, Choice& choice) {
  for (size_t i = 0; i < kSweeps; ++i) {
    sweep(group, choice);
    refit(group, choice);
  }
}

int8_t level_of(float value) {
  if (!(value > -128)) return -128;
  if (value > 127) return 127;
  return static_cast<int8_t>((value + 12582912.0f) - 12582912.0f);
}

// The best unquantized scales, and the sums with their codes.
struct Targets {
  SearchFit fit;
  SearchSums sums;
  float extreme = 0;
};

Targets find_targets(const SearchGroup& group, const Choice& choice) {
  Targets out{fit_of(choice.d, choice.scales), {}};
  for (int i = 0; i < 2; ++i) {
    find_search_sums(group, out.fit, out.sums);
    for (size_t j = 0; j < kSubs; ++j) {
      const float scale = out.sums.values[j] / out.sums.squares[j];
      if (out.sums.squares[j] > 0 && std::isfinite(scale)) out.fit.scales[j] = scale;
    }
  }
  find_search_sums(group, out.fit, out.sums);
  for (const float scale : out.fit.scales) {
    if (std::fabs(scale) > std::fabs(out.extreme)) out.extreme = scale;
  }
  return out;
}

struct RatedScale {
  float growth = INFINITY;  // of the error, above that of the targets
  Choice choice;
};

// Returns the most promising d, with levels for the scales, best first.
std::array<RatedScale, kRestarts> find_steps(const Targets& targets) {
  std::array<RatedScale, kRestarts> best;
  for (int k = 0; k < kSteps; ++k) {
    RatedScale rated{0, {}};
    rated.choice.d = f16_from_float(targets.extreme / (1.5f * static_cast<float>(k) - 128.5f));
    const float step = float_from_f16(rated.choice.d);
    if (step == 0 || !std::isfinite(step)) continue;
    for (size_t j = 0; j < kSubs; ++j) {
      rated.choice.scales[j] = level_of(targets.fit.scales[j] / step);
      const float off = step * static_cast<float>(rated.choice.scales[j]) - targets.fit.scales[j];
      rated.growth += targets.sums.squares[j] * (off * off);
    }
    for (RatedScale& each : best) {
      if (rated.growth < each.growth) std::swap(rated, each);
    }
  }
  return best;
}

void restart(const SearchGroup& group, Choice& best) {
  for (RatedScale& rated : find_steps(find_targets(group, best))) {
    if (!std::isfinite(rated.growth)) continue;
    rate(group, rated.choice);
    descend(group, rated.choice);
    if (rated.choice.error() < best.error()) best = rated.choice;
  }
}

void fill(const float* values, const float* weights, SearchGroup& group) {
  for (size_t j = 0; j < kSubs; ++j) {
    for (size_t e = 0; e < kSub; ++e) {
      group.values[e * kSearchSubs + j] = values[kSub * j + e];
      group.weights[e * kSearchSubs + j] = weights == nullptr ? 1.0f : weights[kSub * j + e];
    }
  }
}

void store(const SearchGroup& group, const Choice& choice, BlockQ6K& out) {
  const SearchFit fit = fit_of(choice.d, choice.scales);
  uint8_t codes[kBlock];
  for (size_t j = 0; j < kSubs; ++j) {
    const float inverse = search_inverse(fit.scales[j]);
    for (size_t e = 0; e < kSub; ++e) {
      const float code = search_code(group, group.values[e * kSearchSubs + j], 0, inverse);
      codes[kSub * j + e] = static_cast<uint8_t>(code + 32);
    }
  }
  out.d = choice.d;
  std::copy(choice.scales.begin(), choice.scales.end(), out.scales);
  pack_codes(codes, out);
}

void search_block(const SearchGroup& group, BlockQ6K& block) {
  Choice choice;
  choice.d = block.d;
  std::copy(std::begin(block.scales), std::end(block.scales), choice.scales.begin());
  rate(group, choice);
  const float given = choice.error();
  descend(group, choice);
  restart(group, choice);
  if (std::isfinite(given) && choice.error() < given) store(group, choice, block);
}

}  // namespace

void search_q6_k(ConstFloatRows rows, std::span<const float> weights, BlockQ6K* blocks) {
  const uint64_t row_blocks = rows.row_values / kBlock, count = rows.values.size() / kBlock;
  SearchGroup group;
  group.count = kSub;
  group.low = -32;
  group.high = 31;
  for (uint64_t b = 0; b < count; ++b) {
    fill(rows.values.data() + b * kBlock,
         weights.empty() ? nullptr : weights.data() + b % row_blocks * kBlock, group);
    search_block(group, blocks[b]);
  }
}

}  // namespace ckpt
