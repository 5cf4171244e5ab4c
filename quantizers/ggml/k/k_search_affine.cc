// The search of k_search.h for types with minimums: two blocks of 8 sub-blocks in parallel.
//
// Sums over a sub-block for fixed codes q (A = sum w q, B = sum w q^2, C = sum w q x, W = sum w, X
// = sum w x):
//
//   best scale s = (W C - X A) / D, minimum m = (A C - B X) / D, D = W B - A^2
//   another scale s + t, with the best minimum m + A t / W, increases the error by (B - A^2 / W)
//   t^2
//   another minimum, u away from that, increases it by W u^2
//
// For a block with scales d S and minimums e M, d and e solve
//   d sum S^2 B - e sum S M A = sum S C        d sum S M A - e sum M^2 W = sum M X
#include <algorithm>
#include <array>
#include <cmath>

#include "core/model/float_convert.h"
#include "quantizers/ggml/k/k_levels.h"
#include "quantizers/ggml/k/k_search.h"

namespace ckpt {
namespace {

constexpr size_t kBlock = 256, kSub = 32, kSubs = 8;
constexpr size_t kBlocks = kSearchSubs / kSubs;
constexpr int kReach = 2;   // neighbors on each side that a sweep tries
constexpr int kSweeps = 2;  // each followed by new d and dmin
constexpr size_t kRestarts = 2;
constexpr int kSteps = 24;  // other d and dmin: largest scale / 64 ... largest scale / 45.6

struct Batch {
  SearchGroup group;
  float weight_sums[kSearchSubs];  // W
  float value_sums[kSearchSubs];   // X
};

// The stored scales of a batch, and the error of each sub-block under them.
struct Choice {
  std::array<uint16_t, kBlocks> d, dmin;
  std::array<uint8_t, kSearchSubs> scales, minimums;
  std::array<float, kSearchSubs> errors;

  float step(size_t sub) const { return float_from_f16(d[sub / kSubs]); }
  float minimum_step(size_t sub) const { return float_from_f16(dmin[sub / kSubs]); }
  float error(size_t block) const {
    float sum = 0;
    for (size_t j = 0; j < kSubs; ++j) sum += errors[kSubs * block + j];
    return sum;
  }
};

void take_block(Choice& to, const Choice& from, size_t block) {
  to.d[block] = from.d[block];
  to.dmin[block] = from.dmin[block];
  for (size_t j = kSubs * block; j < kSubs * (block + 1); ++j) {
    to.scales[j] = from.scales[j];
    to.minimums[j] = from.minimums[j];
    to.errors[j] = from.errors[j];
  }
}

// Replaces blocks of `best` by those of `other` with a lower error.
void take_better(Choice& best, const Choice& other) {
  for (size_t b = 0; b < kBlocks; ++b) {
    if (other.error(b) < best.error(b)) take_block(best, other, b);
  }
}

void set_fit(const Choice& choice, size_t sub, int scale, int minimum, SearchFit& fit) {
  fit.scales[sub] = choice.step(sub) * static_cast<float>(scale);
  fit.minimums[sub] = choice.minimum_step(sub) * static_cast<float>(minimum);
}

SearchFit fit_of(const Choice& choice) {
  SearchFit fit;
  for (size_t j = 0; j < kSearchSubs; ++j) {
    set_fit(choice, j, choice.scales[j], choice.minimums[j], fit);
  }
  return fit;
}

void rate(const Batch& batch, Choice& choice) {
  const SearchFit fit = fit_of(choice);
  SearchErrors found;
  find_search_errors(batch.group, std::span(&fit, 1), &found);
  std::copy_n(found.errors, kSearchSubs, choice.errors.begin());
}

constexpr int kNear = 2 * kReach + 1;  // number of a level and its neighbors
constexpr int kMiddle = kNear * kNear / 2;

// The neighbors of a choice's levels, and their values.
struct Neighbors {
  std::array<std::array<uint8_t, kSearchSubs>, kNear> levels;
  std::array<std::array<float, kSearchSubs>, kNear> numbers;

  Neighbors(const std::array<uint8_t, kSearchSubs>& from,
            const std::array<uint16_t, kBlocks>& steps) {
    for (size_t i = 0; i < kNear * kSearchSubs; ++i) {
      const size_t n = i / kSearchSubs, j = i % kSearchSubs;
      const int level = std::clamp(from[j] + static_cast<int>(n) - kReach, 0, 63);
      levels[n][j] = static_cast<uint8_t>(level);
      numbers[n][j] = float_from_f16(steps[j / kSubs]) * static_cast<float>(level);
    }
  }
};

// Tries all neighbors of the levels, independently for each sub-block.
void sweep(const Batch& batch, Choice& choice) {
  constexpr size_t kFits = 4;
  const Neighbors scales(choice.scales, choice.d), minimums(choice.minimums, choice.dmin);
  std::array<SearchFit, kFits> fits;
  std::array<SearchErrors, kFits> found;
  std::array<int, kSearchSubs> picks;  // index of the best neighbor
  picks.fill(kMiddle);
  for (int first = 0; first < kNear * kNear; first += static_cast<int>(kFits)) {
    const size_t count = std::min(kFits, static_cast<size_t>(kNear * kNear - first));
    for (size_t k = 0; k < count; ++k) {
      const size_t n = static_cast<size_t>(first) + k;
      std::copy_n(scales.numbers[n / kNear].begin(), kSearchSubs, fits[k].scales);
      std::copy_n(minimums.numbers[n % kNear].begin(), kSearchSubs, fits[k].minimums);
    }
    find_search_errors(batch.group, std::span(fits).first(count), found.data());
    for (size_t k = 0; k < count; ++k) {
      for (size_t j = 0; j < kSearchSubs; ++j) {
        const bool is_less = found[k].errors[j] < choice.errors[j];
        choice.errors[j] = is_less ? found[k].errors[j] : choice.errors[j];
        picks[j] = is_less ? first + static_cast<int>(k) : picks[j];
      }
    }
  }
  for (size_t j = 0; j < kSearchSubs; ++j) {
    const auto pick = static_cast<size_t>(picks[j]);
    choice.scales[j] = scales.levels[pick / kNear][j];
    choice.minimums[j] = minimums.levels[pick % kNear][j];
  }
}

// Solves d and dmin of one block by least squares; false if there is no solution.
bool solve(const Batch& batch, const SearchSums& sums, size_t block, Choice& choice) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
  for (size_t j = kSubs * block; j < kSubs * (block + 1); ++j) {
    const double s = choice.scales[j], m = choice.minimums[j];
    aa += s * s * static_cast<double>(sums.squares[j]);
    ab += s * m * static_cast<double>(sums.codes[j]);
    bb += m * m * static_cast<double>(batch.weight_sums[j]);
    ax += s * static_cast<double>(sums.values[j]);
    bx += m * static_cast<double>(batch.value_sums[j]);
  }
  const double determinant = aa * bb - ab * ab;
  double d = aa > 0 ? ax / aa : 0, dmin = 0;
  if (determinant > 1e-12 * aa * bb) {
    d = (ax * bb - bx * ab) / determinant;
    dmin = (ax * ab - bx * aa) / determinant;
  }
  if (!(d > 0 && d < 65504 && dmin >= 0 && dmin < 65504)) return false;
  choice.d[block] = f16_from_float(static_cast<float>(d));
  choice.dmin[block] = f16_from_float(static_cast<float>(dmin));
  return true;
}

void refit(const Batch& batch, Choice& choice) {
  SearchSums sums;
  find_search_sums(batch.group, fit_of(choice), sums);
  Choice other = choice;
  for (size_t b = 0; b < kBlocks; ++b) {
    if (!solve(batch, sums, b, other)) take_block(other, choice, b);
  }
  if (other.d == choice.d && other.dmin == choice.dmin) return;
  rate(batch, other);
  take_better(choice, other);
}

void descend(const Batch& batch, Choice& choice) {
  for (int i = 0; i < kSweeps; ++i) {
    sweep(batch, choice);
    refit(batch, choice);
  }
}

// The best unquantized scales and minimums, and the sums with their codes.
struct Targets {
  SearchFit fit;
  SearchSums sums;
};

void fit_sub(const Batch& batch, const SearchSums& sums, size_t j, SearchFit& fit) {
  const float a = sums.codes[j], b = sums.squares[j], c = sums.values[j];
  const float w = batch.weight_sums[j], x = batch.value_sums[j];
  const float determinant = w * b - a * a;
  if (!(determinant > 0)) return;
  float scale = (w * c - x * a) / determinant;
  float minimum = (a * c - b * x) / determinant;
  if (minimum < 0) {
    minimum = 0;
    scale = c / b;
  }
  if (!(scale > 0 && std::isfinite(scale) && std::isfinite(minimum))) return;
  fit.scales[j] = scale;
  fit.minimums[j] = minimum;
}

Targets find_targets(const Batch& batch, const Choice& choice) {
  Targets out{fit_of(choice), {}};
  for (int i = 0; i < 2; ++i) {
    find_search_sums(batch.group, out.fit, out.sums);
    for (size_t j = 0; j < kSearchSubs; ++j) fit_sub(batch, out.sums, j, out.fit);
  }
  find_search_sums(batch.group, out.fit, out.sums);
  return out;
}

uint8_t level_of(float value) {
  if (!(value > 0)) return 0;
  if (value > 63) return 63;
  return static_cast<uint8_t>((value + 12582912.0f) - 12582912.0f);
}

// Calls `function` with the half floats of `largest` / 64 and so on that are above zero and finite.
template <class Function>
void for_each_step(float largest, Function function) {
  for (int k = 0; k < kSteps; ++k) {
    const uint16_t half = f16_from_float(largest / (64.0f - 0.8f * static_cast<float>(k)));
    if (half != 0 && half < 0x7C00) function(half);
  }
}

struct RatedScale {
  float growth = INFINITY;  // of the error, above that of the targets
  uint16_t half = 0;
};

// Returns the most promising d, best first.
std::array<RatedScale, kRestarts> find_steps(const Batch& batch, const Targets& targets,
                                             size_t first) {
  const float* scales = targets.fit.scales + first;
  const float largest = *std::max_element(scales, scales + kSubs);
  std::array<RatedScale, kRestarts> best;
  for_each_step(largest, [&](uint16_t half) {
    const float step = float_from_f16(half);
    RatedScale rated{0, half};
    for (size_t j = first; j < first + kSubs; ++j) {
      const float a = targets.sums.codes[j], w = batch.weight_sums[j];
      const float target = targets.fit.scales[j];
      const float off = step * static_cast<float>(level_of(target / step)) - target;
      if (w > 0) rated.growth += (targets.sums.squares[j] - a * a / w) * (off * off);
    }
    for (RatedScale& each : best) {
      if (rated.growth < each.growth) std::swap(rated, each);
    }
  });
  return best;
}

// With the given d, sets levels of scales, the most promising dmin and levels of minimums.
void take_step(const Batch& batch, const Targets& targets, size_t block, Choice& choice) {
  const float step = float_from_f16(choice.d[block]);
  const size_t first = kSubs * block;
  float wanted[kSubs];
  for (size_t j = 0; j < kSubs; ++j) {
    const size_t sub = first + j;
    const float target = targets.fit.scales[sub], w = batch.weight_sums[sub];
    choice.scales[sub] = level_of(target / step);
    const float off = step * static_cast<float>(choice.scales[sub]) - target;
    wanted[j] = targets.fit.minimums[sub] + (w > 0 ? targets.sums.codes[sub] * off / w : 0);
  }
  RatedScale best;
  for_each_step(*std::max_element(wanted, wanted + kSubs), [&](uint16_t half) {
    const float minimum_step = float_from_f16(half);
    RatedScale rated{0, half};
    for (size_t j = 0; j < kSubs; ++j) {
      const float level = static_cast<float>(level_of(wanted[j] / minimum_step));
      const float off = minimum_step * level - wanted[j];
      rated.growth += batch.weight_sums[first + j] * (off * off);
    }
    if (rated.growth < best.growth) best = rated;
  });
  choice.dmin[block] = best.half;
  const float minimum_step = float_from_f16(best.half);
  for (size_t j = 0; j < kSubs; ++j) {
    choice.minimums[first + j] = best.half == 0 ? uint8_t{0} : level_of(wanted[j] / minimum_step);
  }
}

void restart(const Batch& batch, Choice& best) {
  const Targets targets = find_targets(batch, best);
  std::array<std::array<RatedScale, kRestarts>, kBlocks> steps;
  for (size_t b = 0; b < kBlocks; ++b) steps[b] = find_steps(batch, targets, kSubs * b);
  for (size_t i = 0; i < kRestarts; ++i) {
    Choice other = best;
    for (size_t b = 0; b < kBlocks; ++b) {
      if (!std::isfinite(steps[b][i].growth)) continue;
      other.d[b] = steps[b][i].half;
      take_step(batch, targets, b, other);
    }
    rate(batch, other);
    descend(batch, other);
    take_better(best, other);
  }
}

// `values` and `weights` have one pointer per block.
template <class Block>
void fill(std::span<const float* const> values, std::span<const float* const> weights,
          Batch& batch) {
  batch.group.count = kSub;
  batch.group.low = 0;
  batch.group.high = static_cast<float>(Block::kTop);
  for (size_t j = 0; j < kSearchSubs; ++j) {
    const float* sub = values[j / kSubs] + j % kSubs * kSub;
    const float* sub_weights = weights.empty() ? nullptr : weights[j / kSubs] + j % kSubs * kSub;
    float weight_sum = 0, value_sum = 0;
    for (size_t e = 0; e < kSub; ++e) {
      const float weight = sub_weights == nullptr ? 1.0f : sub_weights[e];
      batch.group.values[e * kSearchSubs + j] = sub[e];
      batch.group.weights[e * kSearchSubs + j] = weight;
      weight_sum += weight;
      value_sum += weight * sub[e];
    }
    batch.weight_sums[j] = weight_sum;
    batch.value_sums[j] = value_sum;
  }
}

template <class Block>
void store(const Batch& batch, const Choice& choice, size_t block, Block& out) {
  Levels levels;
  uint8_t codes[kBlock];
  for (size_t j = 0; j < kSubs; ++j) {
    const size_t sub = kSubs * block + j;
    levels.scales[j] = choice.scales[sub];
    levels.minimums[j] = choice.minimums[sub];
    SearchFit fit;
    set_fit(choice, sub, levels.scales[j], levels.minimums[j], fit);
    const float inverse = search_inverse(fit.scales[sub]);
    for (size_t e = 0; e < kSub; ++e) {
      const float value = batch.group.values[e * kSearchSubs + sub];
      codes[kSub * j + e] =
          static_cast<uint8_t>(search_code(batch.group, value, fit.minimums[sub], inverse));
    }
  }
  out.d = choice.d[block];
  out.dmin = choice.dmin[block];
  pack_levels(levels.scales, levels.minimums, out.scales);
  pack_codes(codes, out);
}

template <class Block>
void search_batch(const Batch& batch, std::span<Block* const> blocks) {
  Choice choice;
  for (size_t b = 0; b < kBlocks; ++b) {
    const Levels levels = unpack_levels(blocks[b]->scales);
    choice.d[b] = blocks[b]->d;
    choice.dmin[b] = blocks[b]->dmin;
    std::copy_n(levels.scales, kSubs, choice.scales.begin() + kSubs * b);
    std::copy_n(levels.minimums, kSubs, choice.minimums.begin() + kSubs * b);
  }
  rate(batch, choice);
  const Choice given = choice;
  descend(batch, choice);
  restart(batch, choice);
  for (size_t b = 0; b < kBlocks; ++b) {
    const bool is_better = std::isfinite(given.error(b)) && choice.error(b) < given.error(b);
    if (is_better) store(batch, choice, b, *blocks[b]);
  }
}

}  // namespace

// If the number of blocks is odd, the last one is searched together with itself.
template <class Block>
void search_affine(ConstFloatRows rows, std::span<const float> weights, Block* blocks) {
  const uint64_t row_blocks = rows.row_values / kBlock, count = rows.values.size() / kBlock;
  Batch batch;
  for (uint64_t first = 0; first < count; first += kBlocks) {
    std::array<const float*, kBlocks> values, block_weights;
    std::array<Block*, kBlocks> out;
    Block twin;
    for (size_t b = 0; b < kBlocks; ++b) {
      const uint64_t at = std::min(first + b, count - 1);
      values[b] = rows.values.data() + at * kBlock;
      if (!weights.empty()) block_weights[b] = weights.data() + at % row_blocks * kBlock;
      out[b] = first + b < count ? blocks + at : &twin;
      if (first + b >= count) twin = blocks[at];
    }
    fill<Block>(values, weights.empty() ? std::span<const float* const>() : block_weights, batch);
    search_batch<Block>(batch, out);
  }
}
#define CKPT_SEARCHED(name, Block) \
  template void search_affine(ConstFloatRows, std::span<const float>, Block*);
CKPT_K_TYPES_OF_32(CKPT_SEARCHED)
#undef CKPT_SEARCHED

}  // namespace ckpt
