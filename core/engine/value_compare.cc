#include "core/engine/value_compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ckpt {
namespace {

constexpr size_t kLanes = 8;  // sums of a chunk: value i goes to lane i % 8

struct Lanes {
  double a[kLanes] = {}, b[kLanes] = {}, products[kLanes] = {}, errors[kLanes] = {};
  double fourths[kLanes] = {};
  double largest[kLanes] = {}, largest_value[kLanes] = {};
  uint64_t zeroed[kLanes] = {};

  void add(size_t lane, double x, double y) {
    const double error = x - y;
    a[lane] += x * x;
    b[lane] += y * y;
    products[lane] += x * y;
    errors[lane] += error * error;
    fourths[lane] += (x * x) * (x * x);
    largest[lane] = std::max(largest[lane], std::fabs(error));
    largest_value[lane] = std::max({largest_value[lane], std::fabs(x), std::fabs(y)});
    zeroed[lane] += y == 0 && x != 0 ? 1 : 0;
  }
};

void add_finite(const float* a, const float* b, uint64_t count, Lanes& lanes) {
  uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes.add(lane, static_cast<double>(a[i + lane]), static_cast<double>(b[i + lane]));
    }
  }
  for (size_t lane = 0; i < count; ++i, ++lane) {
    lanes.add(lane, static_cast<double>(a[i]), static_cast<double>(b[i]));
  }
}

bool all_finite(const float* values, uint64_t count) {
  bool finite = true;
  for (uint64_t i = 0; i < count; ++i) finite = finite && std::isfinite(values[i]);
  return finite;
}

// A NaN is the same as any NaN, an infinity as one of its sign.
bool is_same_nonfinite(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Counts what is not finite and puts zeros there, which add nothing to any sum.
void take_out_nonfinite(std::span<float> a, std::span<float> b, ValueDifference& out) {
  for (size_t i = 0; i < a.size(); ++i) {
    const bool finite_a = std::isfinite(a[i]), finite_b = std::isfinite(b[i]);
    if (finite_a && finite_b) continue;
    out.sides[0].nonfinite += finite_a ? 0 : 1;
    out.sides[1].nonfinite += finite_b ? 0 : 1;
    out.nonfinite_apart += is_same_nonfinite(a[i], b[i]) ? 0 : 1;
    --out.values;
    a[i] = b[i] = 0;
  }
}

double sum(const double (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

void add_sums(std::span<float> a, std::span<float> b, ValueDifference& out) {
  out.values += a.size();
  if (!all_finite(a.data(), a.size()) || !all_finite(b.data(), b.size())) {
    take_out_nonfinite(a, b, out);
  }
  Lanes lanes;
  add_finite(a.data(), b.data(), a.size(), lanes);
  out.sides[0].sum_squares += sum(lanes.a);
  out.sides[1].sum_squares += sum(lanes.b);
  out.sum_products += sum(lanes.products);
  out.sum_squared_errors += sum(lanes.errors);
  out.sum_fourths += sum(lanes.fourths);
  out.zeroed = std::accumulate(lanes.zeroed, lanes.zeroed + kLanes, out.zeroed);
  out.max_error = std::max(out.max_error, *std::max_element(lanes.largest, lanes.largest + kLanes));
  out.max_value =
      std::max(out.max_value, *std::max_element(lanes.largest_value, lanes.largest_value + kLanes));
}

bool all_zero(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

// Blocks of `block_values`; a row holds whole ones, so rows need not be told apart.
void count_flushed(std::span<const float> own, std::span<const float> other, uint64_t block_values,
                   ValueSide& side) {
  if (block_values < 2) return;
  for (size_t at = 0; at + block_values <= own.size(); at += block_values) {
    ++side.blocks;
    if (all_zero(own.subspan(at, block_values)) && !all_zero(other.subspan(at, block_values))) {
      ++side.flushed_blocks;
    }
  }
}

// `chunk` in sums of its own, so that the order of threads has no part in them.
ValueDifference difference_of(const ValueChunk& chunk) {
  ValueDifference out;
  const ChunkSide* sides[2] = {&chunk.a, &chunk.b};
  for (size_t i = 0; i < 2; ++i) {
    out.sides[i].codes = sides[i]->codes;
    out.sides[i].extreme = sides[i]->extreme;
  }
  const auto [a, b] = std::pair(chunk.a.values, chunk.b.values);
  count_flushed(a, b, chunk.a.codec->block_values, out.sides[0]);
  count_flushed(b, a, chunk.b.codec->block_values, out.sides[1]);
  add_sums(a, b, out);
  return out;
}

}  // namespace

std::optional<double> ValueSide::saturated() const {
  if (codes == 0) return std::nullopt;
  return static_cast<double>(extreme) / static_cast<double>(codes);
}

double ValueDifference::rmse() const {
  return values == 0 ? 0 : std::sqrt(sum_squared_errors / static_cast<double>(values));
}

double ValueDifference::relative() const {
  return sum_squared_errors == 0 ? 0 : std::sqrt(sum_squared_errors / sides[0].sum_squares);
}

double ValueDifference::sqnr_db() const {
  if (sum_squared_errors == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sides[0].sum_squares / sum_squared_errors);
}

double ValueDifference::cosine() const {
  const double a = sides[0].sum_squares, b = sides[1].sum_squares;
  if (a == 0 || b == 0) return a == b ? 1 : 0;
  return std::min(1.0, sum_products / (std::sqrt(a) * std::sqrt(b)));
}

double ValueDifference::kurtosis() const {
  const double squares = sides[0].sum_squares;
  return squares == 0 ? 0 : sum_fourths / squares / squares * static_cast<double>(values);
}

void combine(ValueDifference& into, const ValueDifference& other) {
  for (size_t i = 0; i < 2; ++i) {
    ValueSide& side = into.sides[i];
    side.sum_squares += other.sides[i].sum_squares;
    side.nonfinite += other.sides[i].nonfinite;
    side.codes += other.sides[i].codes;
    side.extreme += other.sides[i].extreme;
    side.blocks += other.sides[i].blocks;
    side.flushed_blocks += other.sides[i].flushed_blocks;
  }
  into.values += other.values;
  into.nonfinite_apart += other.nonfinite_apart;
  into.sum_products += other.sum_products;
  into.sum_squared_errors += other.sum_squared_errors;
  into.sum_fourths += other.sum_fourths;
  into.zeroed += other.zeroed;
  into.max_error = std::max(into.max_error, other.max_error);
  into.max_value = std::max(into.max_value, other.max_value);
}

Result<std::vector<ValueDifference>> compare_values(std::span<const ValuePair> pairs,
                                                    const Codec& floats,
                                                    const CompareOptions& options) {
  CKPT_ASSIGN(const ValueChunks chunks, ValueChunks::of(pairs, floats));
  std::vector<ValueDifference> by_chunk(chunks.count());
  CKPT_TRY(chunks.visit(
      options, [&](const ValueChunk& chunk) { by_chunk[chunk.index] = difference_of(chunk); }));
  std::vector<ValueDifference> out(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const size_t first = chunks.first_chunk(i);
    for (size_t k = 0; k < chunks.chunks(i); ++k) combine(out[i], by_chunk[first + k]);
  }
  return out;
}

}  // namespace ckpt
