#include "core/computed/low_rank_source.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/model/findings.h"

namespace ckpt {
namespace {

// Values of a strip, which stays in the cache while it is changed.
constexpr uint64_t kLowRankStripValues = 128 << 10;
constexpr size_t kRuns = 8;

// Values [first, first + out.size()) of a tensor of plain floats.
Status read_floats(const Tensor& tensor, uint64_t first, std::span<float> out) {
  const SliceIndex index(tensor.stored().parts[0]);
  const uint64_t width = size_bytes(tensor.codec->parts[0].dtype);
  GatherBuffers buffers(BufferPool::shared());
  CKPT_ASSIGN(const auto bytes, in(fmt::format("tensor '{}'", tensor.name),
                                   gather(index, first * width, out.size() * width, buffers)));
  const std::array<std::span<const std::byte>, 1> parts = {bytes};
  tensor.codec->decode(parts, {out, out.size()});
  return {};
}

void encode_floats(const Codec& codec, std::span<const float> values, std::span<std::byte> out) {
  const std::array<std::span<std::byte>, 1> parts = {out};
  codec.encode({values, values.size()}, {}, parts);
}

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

bool is_stored_floats(const Tensor& tensor) {
  return tensor.is_stored() && tensor.is_plain_float() && tensor.codec->decode != nullptr &&
         tensor.codec->encode != nullptr;
}

Status check_factor(const Tensor& tensor) {
  if (is_stored_floats(tensor)) return {};
  return unsupported("tensor '{}' is {}; expected stored floats", tensor.name, tensor.codec->name);
}

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
    : base_(std::move(base)),
      update_(std::move(update)),
      product_(product),
      base_bytes_(base_.stored().parts[0]) {}

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
  if (update_.magnitudes) {
    out += fmt::format(" {} {}", update_.column_norms ? "columns" : "rows",
                       described(*update_.magnitudes));
  }
  return out;
}

uint64_t LowRankSource::band_rows() const {
  return std::max<uint64_t>(1, kLowRankStripValues / std::max<uint64_t>(1, base_.row_values()));
}

// The base's bytes, two strips of floats and one of rounded ones, `right` as read and as floats,
// and rows of `left`; of columns, their sums.
uint64_t LowRankSource::own_scratch_bytes(uint64_t size_bytes) const {
  constexpr uint64_t kFloat = sizeof(float);
  const uint64_t columns = base_.row_values();
  const uint64_t band = std::min(band_rows(), base_.rows());
  const uint64_t read = std::min(size_bytes + 2 * row_bytes(), this->size_bytes());
  const uint64_t once = update_.column_norms ? columns * (sizeof(double) + 2 * kFloat) : 0;
  return read + 3 * band * columns * kFloat + 2 * update_.right.values() * kFloat +
         2 * band * rank() * kFloat + band * row_bytes() + once;
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

Status LowRankSource::read_base(uint64_t first, uint64_t rows, GatherBuffers& buffers,
                                std::span<const std::byte>& raw) const {
  CKPT_ASSIGN(raw, gather(base_bytes_, first * row_bytes(), rows * row_bytes(), buffers));
  return {};
}

Status LowRankSource::add_delta(uint64_t first, const Floats& right, FloatRows values) const {
  const PooledArray<float> left(values.rows() * rank()), delta(values.values.size());
  CKPT_TRY(read_floats(update_.left, first * rank(), left.span()));
  product_({left.span(), right, rank(), update_.scale}, {delta.span(), values.row_values});
  const std::span<float> added = delta.span();
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
  GatherBuffers buffers(BufferPool::shared());
  for (uint64_t row = 0; row < base_.rows(); row += band_rows()) {
    const uint64_t rows = std::min(band_rows(), base_.rows() - row);
    std::span<const std::byte> raw;
    CKPT_TRY(read_base(row, rows, buffers, raw));
    const PooledArray<float> values(rows * columns);
    const std::array<std::span<const std::byte>, 1> parts = {raw};
    base_.codec->decode(parts, {values.span(), columns});
    CKPT_TRY(add_delta(row, right, {values.span(), columns}));
    for (uint64_t i = 0; i < values.span().size(); ++i) {
      squares[i % columns] += double{values.span()[i]} * double{values.span()[i]};
    }
  }
  return {};
}

// Read once, by the first who asks: a factor needs every row.
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

Status LowRankSource::merge(uint64_t first, std::span<const std::byte> raw,
                            std::span<std::byte> out) const {
  const uint64_t columns = base_.row_values(), rows = raw.size() / row_bytes();
  CKPT_ASSIGN(const SharedFloats right, this->right());
  const PooledArray<float> array(rows * columns);
  const FloatRows values{array.span(), columns};
  const std::array<std::span<const std::byte>, 1> parts = {raw};
  base_.codec->decode(parts, values);
  CKPT_TRY(add_delta(first, *right, values));
  if (update_.magnitudes && update_.column_norms) {
    CKPT_ASSIGN(const SharedFloats factors, factors_of_columns());
    for (uint64_t i = 0; i < values.values.size(); ++i) values.values[i] *= (*factors)[i % columns];
  } else if (update_.magnitudes) {
    CKPT_TRY(scale_rows(first, values));
  }
  encode_floats(*base_.codec, values.values, out);
  return {};
}

Status LowRankSource::read(uint64_t offset_bytes, std::span<std::byte> out) const {
  CKPT_TRY(check_range(offset_bytes, out.size()));
  if (out.empty()) return {};
  CKPT_ASSIGN(const SharedFloats kept, right());  // for all strips
  const uint64_t first = offset_bytes / row_bytes();
  const uint64_t end = (offset_bytes + out.size() + row_bytes() - 1) / row_bytes();
  GatherBuffers buffers(BufferPool::shared());
  std::span<const std::byte> raw;
  CKPT_TRY(in(fmt::format("tensor '{}'", base_.name), read_base(first, end - first, buffers, raw)));
  const uint64_t skipped = offset_bytes - first * row_bytes();
  const PooledArray<std::byte> strip(std::min(band_rows(), end - first) * row_bytes());
  for (uint64_t row = first; row < end; row += band_rows()) {
    const uint64_t rows = std::min(band_rows(), end - row);
    const auto merged = strip.span().first(rows * row_bytes());
    CKPT_TRY(merge(row, raw.subspan((row - first) * row_bytes(), merged.size()), merged));
    take_window(merged.subspan(row == first ? skipped : 0), offset_bytes, out);
  }
  return {};
}

Result<Tensor> LowRankSource::added_to(const Tensor& rows, uint64_t first) const {
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

bool reads_lora_merge(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  if (computed == nullptr) return false;
  bool found = computed->kind() == ComputedSource::Kind::kLowRank;
  computed->each_input(
      [&](const Slice& input) { found = found || reads_lora_merge(*input.source); });
  return found;
}

bool is_lora_merge(const Tensor& tensor) {
  const auto type = plain_dtype(*tensor.codec);
  if (tensor.is_stored() || !type || !is_block_type(*type)) return false;
  bool found = false;
  each_slice(*tensor.recoded().from,
             [&](const Slice& slice) { found = found || reads_lora_merge(*slice.source); });
  return found;
}

Result<Tensor> with_low_rank(const Tensor& base, LowRankUpdate update, LowRankProduct product) {
  CKPT_TRY(check_factor(base));
  CKPT_TRY(check_factor(update.left));
  CKPT_TRY(check_factor(update.right));
  if (update.magnitudes) {
    CKPT_TRY(check_factor(*update.magnitudes));
  }
  CKPT_TRY(check_fits(base, update));
  CKPT_CHECK(product != nullptr);
  Tensor out = base;
  const auto source = std::make_shared<const LowRankSource>(base, std::move(update), product);
  out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  return out;
}

}  // namespace ckpt
