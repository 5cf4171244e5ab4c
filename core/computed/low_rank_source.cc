#include "core/computed/low_rank_source.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace ckpt {
namespace {

constexpr size_t kRuns = 8;

double sum_of_squares(std::span<const float> row) {
  std::array<double, kRuns> sums = {};
  size_t i = 0;
  for (; i + kRuns <= row.size(); i += kRuns) {
    for (size_t k = 0; k < kRuns; ++k) sums[k] += double{row[i + k]} * double{row[i + k]};
  }
  for (size_t k = 0; i < row.size(); ++i, ++k) sums[k] += double{row[i]} * double{row[i]};
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

float norm_of(double squares) { return static_cast<float>(std::sqrt(squares)); }

Status check_fits(const Tensor& base, const LowRankUpdate& update) {
  const Tensor &left = update.left, &right = update.right;
  if (left.rows() != base.rows() || right.row_values() != base.row_values() ||
      left.row_values() != right.rows()) {
    return corrupt(
        "'{}' [{}] and '{}' [{}] do not fit the weight '{}' [{}]; expected [{}, r] and [r, {}]",
        left.name, fmt::join(left.shape, ", "), right.name, fmt::join(right.shape, ", "), base.name,
        fmt::join(base.shape, ", "), base.rows(), base.row_values());
  }
  if (!update.magnitudes) return {};
  const uint64_t expected = update.column_norms ? base.row_values() : base.rows();
  if (update.magnitudes->values() == expected) return {};
  return corrupt("tensor '{}' has {} values; expected {}", update.magnitudes->name,
                 update.magnitudes->values(), expected);
}

}  // namespace

LowRankSource::LowRankSource(Tensor base, LowRankUpdate update, LowRankProduct product)
    : MergedSource(std::move(base)), update_(std::move(update)), product_(product) {}

void LowRankSource::each_input(const TakeInput& take) const {
  each_slice(base_, take);
  each_slice(update_.left, take);
  each_slice(update_.right, take);
  if (update_.magnitudes) each_slice(*update_.magnitudes, take);
}

std::string LowRankSource::operation() const {
  std::string out =
      fmt::format("{} + {} x {} * {:08x}{}", described(base_), described(update_.left),
                  described(update_.right), std::bit_cast<uint32_t>(update_.scale),
                  update_.rounds_delta ? " rounded" : "");
  if (update_.divisor != 1) {
    out += fmt::format(" / {:08x}", std::bit_cast<uint32_t>(update_.divisor));
  }
  if (update_.magnitudes) {
    out += fmt::format(" {} {}", update_.column_norms ? "columns" : "rows",
                       described(*update_.magnitudes));
  }
  return out;
}

// Counts the product of a strip and its rounded values, `right` as stored and as floats, and rows
// of `left`. Norms of columns need their sums in addition.
uint64_t LowRankSource::change_bytes(uint64_t strip_values) const {
  constexpr uint64_t kFloat = sizeof(float);
  const uint64_t columns = base_.row_values();
  const uint64_t once = update_.column_norms ? columns * (sizeof(double) + 2 * kFloat) : 0;
  return 2 * strip_values * kFloat + 2 * update_.right.values() * kFloat +
         2 * strip_rows() * rank() * kFloat + once;
}

Result<LowRankSource::SharedFloats> LowRankSource::right() const {
  const std::lock_guard lock(mutex_);
  if (SharedFloats held = right_.lock()) return held;
  Floats values(update_.right.values());
  CKPT_TRY(read_floats(update_.right, 0, values));
  auto shared = std::make_shared<const Floats>(std::move(values));
  right_ = shared;
  return shared;
}

Status LowRankSource::add_delta(uint64_t first, const Floats& right, FloatRows values) const {
  const PooledArray<float> left(values.rows() * rank()), delta(values.values.size());
  CKPT_TRY(read_floats(update_.left, first * rank(), left.span()));
  product_({left.span(), right, rank(), update_.scale}, {delta.span(), values.row_values});
  const std::span<float> added = delta.span();
  if (update_.divisor != 1) std::ranges::for_each(added, [&](float& d) { d /= update_.divisor; });
  if (update_.rounds_delta) {
    const uint64_t width = ckpt::size_bytes(base_.codec->parts[0].dtype);
    const PooledArray<std::byte> rounded(added.size() * width);
    encode_floats(*base_.codec, added, rounded.span());
    const std::array<std::span<const std::byte>, 1> parts = {rounded.span()};
    base_.codec->decode(parts, {added, added.size()});
  }
  float* const to = values.values.data();
  const float* const from = added.data();
  for (size_t i = 0; i < added.size(); ++i) to[i] += from[i];
  return {};
}

Status LowRankSource::scale_rows(uint64_t first, FloatRows values) const {
  std::vector<float> magnitudes(values.rows());
  CKPT_TRY(read_floats(*update_.magnitudes, first, magnitudes));
  for (uint64_t i = 0; i < values.rows(); ++i) {
    const auto row = values.values.subspan(i * values.row_values, values.row_values);
    const float factor = magnitudes[i] / norm_of(sum_of_squares(row));
    for (float& value : row) value *= factor;
  }
  return {};
}

Status LowRankSource::sum_columns(const Floats& right, std::vector<double>& squares) const {
  const uint64_t columns = base_.row_values();
  for (uint64_t row = 0; row < base_.rows(); row += strip_rows()) {
    const uint64_t rows = std::min(strip_rows(), base_.rows() - row);
    const PooledArray<float> values(rows * columns);
    CKPT_TRY(read_floats(base_, row * columns, values.span()));
    CKPT_TRY(add_delta(row, right, {values.span(), columns}));
    for (uint64_t i = 0; i < values.span().size(); ++i) {
      squares[i % columns] += double{values.span()[i]} * double{values.span()[i]};
    }
  }
  return {};
}

// Read once, by the first caller, because each factor depends on every row.
Result<LowRankSource::SharedFloats> LowRankSource::factors_of_columns() const {
  CKPT_ASSIGN(const SharedFloats right, this->right());
  const std::lock_guard lock(mutex_);
  if (column_factors_ != nullptr) return column_factors_;
  std::vector<double> squares(base_.row_values());
  CKPT_TRY(sum_columns(*right, squares));
  Floats factors(squares.size());
  CKPT_TRY(read_floats(*update_.magnitudes, 0, factors));
  for (size_t i = 0; i < factors.size(); ++i) factors[i] /= norm_of(squares[i]);
  column_factors_ = std::make_shared<const Floats>(std::move(factors));
  return column_factors_;
}

Status LowRankSource::change(uint64_t first, FloatRows values) const {
  CKPT_ASSIGN(const SharedFloats right, this->right());
  CKPT_TRY(add_delta(first, *right, values));
  if (update_.magnitudes && update_.column_norms) {
    CKPT_ASSIGN(const SharedFloats factors, factors_of_columns());
    const uint64_t columns = values.row_values;
    for (uint64_t i = 0; i < values.values.size(); ++i) values.values[i] *= (*factors)[i % columns];
  } else if (update_.magnitudes) {
    CKPT_TRY(scale_rows(first, values));
  }
  return {};
}

Result<Tensor> LowRankSource::changed(const Tensor& rows, uint64_t first) const {
  if (update_.column_norms) {
    return unsupported("tensor '{}': norms of columns need all rows", base_.name);
  }
  LowRankUpdate update = update_;
  update.rounds_delta = false;
  CKPT_ASSIGN(update.left, take_rows(update_.left, first, rows.rows()));
  if (update.magnitudes) {
    CKPT_ASSIGN(const Tensor column, reshape(*update_.magnitudes, {base_.rows(), 1}));
    CKPT_ASSIGN(update.magnitudes, take_rows(column, first, rows.rows()));
  }
  return with_low_rank(rows, std::move(update), product_);
}

Result<Tensor> with_low_rank(const Tensor& base, LowRankUpdate update, LowRankProduct product) {
  CKPT_TRY(check_stored_floats(base));
  CKPT_TRY(check_stored_floats(update.left));
  CKPT_TRY(check_stored_floats(update.right));
  if (update.magnitudes) {
    CKPT_TRY(check_stored_floats(*update.magnitudes));
  }
  CKPT_TRY(check_fits(base, update));
  CKPT_CHECK(product != nullptr);
  return stored_in(base,
                   std::make_shared<const LowRankSource>(base, std::move(update), product));
}

}  // namespace ckpt
