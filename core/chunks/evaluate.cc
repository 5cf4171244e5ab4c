#include "core/chunks/evaluate.h"

#include <algorithm>
#include <cmath>

#include "core/chunks/recode_chunk.h"
#include "core/computed/gather.h"

namespace ckpt {
namespace {

constexpr uint64_t kRunValues = 64 << 10;  // read together, or one band

// Reads runs of rows of one tensor.
class Rows {
 public:
  explicit Rows(const Tensor& tensor) : tensor_(tensor), source_(tensor.stored_tensor()) {
    for (const auto& slices : source_.stored().parts) indices_.emplace_back(slices);
    buffers_.resize(indices_.size());
    grain_ = {tensor.rows(), tensor.row_values(), source_.codec->band_rows};
    grain_.band_rows = std::max(grain_.band_rows, uint64_t{tensor.codec->band_rows});
  }

  Status check() const {
    const bool can_decode = source_.codec->decode != nullptr && tensor_.codec->decode != nullptr;
    const bool is_other = !tensor_.is_stored() && (tensor_.recoded().block_amax != nullptr ||
                                                   tensor_.recoded().repack != nullptr);
    if (can_decode && !is_other) return {};
    return unsupported("tensor '{}': values of type {} cannot be read", tensor_.name,
                       tensor_.codec->name);
  }
  // Rows that must be read together. If they begin a band, the first `least_rows` suffice.
  uint64_t band_rows() const { return grain_.band_rows; }
  uint64_t least_rows() const {
    if (!source_.codec->decodes_any_rows) return grain_.band_rows;
    return tensor_.is_stored() ? 1 : tensor_.codec->band_rows;
  }
  void set_stats(const Stats& stats) { stats_ = stats; }
  void allow_nonfinite() { allow_nonfinite_ = true; }

  Result<ConstFloatRows> read(uint64_t first, uint64_t rows) {
    CKPT_TRY(load(first, rows));
    const uint64_t row_values = grain_.row_values;
    values_.resize(rows * row_values);
    const FloatRows out{values_, row_values};
    if (tensor_.is_stored()) {
      source_.codec->decode(parts_, out);
    } else {
      std::vector<std::vector<std::byte>> encoded;
      std::vector<std::span<std::byte>> views;
      for (const PartRule& rule : tensor_.codec->parts) {
        encoded.emplace_back(part_shape(rule, rows, row_values).size_bytes);
      }
      for (auto& part : encoded) views.emplace_back(part);
      CKPT_TRY(recode_chunk(input(first, rows), scratch_, views));
      const std::vector<std::span<const std::byte>> written(views.begin(), views.end());
      tensor_.codec->decode(written, out);
    }
    return ConstFloatRows{values_, row_values};
  }

  // Requires: the tensor is Recoded with a codec that has a scan.
  Status scan(uint64_t first, uint64_t rows, Stats& stats) {
    CKPT_TRY(load(first, rows));
    return scan_chunk(input(first, rows), scratch_, stats);
  }

 private:
  RecodeInput input(uint64_t first, uint64_t rows) const {
    return {tensor_, grain_, first, rows, parts_, stats_, allow_nonfinite_};
  }

  Status load(uint64_t first, uint64_t rows) {
    parts_.clear();
    for (size_t i = 0; i < indices_.size(); ++i) {
      const PartRange range = part_range(source_.codec->parts[i], grain_, first, rows);
      CKPT_ASSIGN(parts_.emplace_back(),
                  in(fmt::format("tensor '{}'", source_.name),
                     gather(indices_[i], range.first_bytes, range.size_bytes, buffers_[i])));
    }
    return {};
  }

  const Tensor& tensor_;
  const Tensor& source_;
  std::vector<SliceIndex> indices_;
  std::vector<GatherBuffers> buffers_;
  std::vector<std::span<const std::byte>> parts_;
  Grain grain_;
  Stats stats_;
  bool allow_nonfinite_ = false;
  RecodeScratch scratch_;
  std::vector<float> values_;
};

struct RowRange {
  uint64_t first, count;
};

// The rows of a band, and the smallest number of first rows that can be read without the others.
struct Band {
  uint64_t rows, least;
};
Band band_of(const Rows& rows) {
  return {std::max<uint64_t>(1, rows.band_rows()), std::max<uint64_t>(1, rows.least_rows())};
}

// Chooses complete bands: all of them, or evenly spaced ones up to the limit, in at most
// `most_runs` contiguous runs. If the limit is below one band, chooses first rows of some bands.
std::vector<RowRange> choose_rows(const Tensor& tensor, Band of, uint64_t limit_values,
                                  uint64_t most_runs = UINT64_MAX) {
  std::vector<RowRange> out;
  const uint64_t rows = tensor.rows(), columns = std::max<uint64_t>(1, tensor.row_values());
  if (rows == 0 || tensor.row_values() == 0) return out;
  const uint64_t band = of.rows;
  const bool all = tensor.values() <= limit_values;
  const uint64_t run = std::max(band, kRunValues / columns / band * band);
  if (all) {
    for (uint64_t at = 0; at < rows; at += run) out.push_back({at, std::min(run, rows - at)});
    return out;
  }
  const uint64_t bands = (rows + band - 1) / band;
  const uint64_t run_rows = limit_values / columns >= band ? band : of.least;
  const uint64_t chosen = std::clamp<uint64_t>(limit_values / (columns * run_rows), 1, bands);
  const uint64_t together = run_rows == band ? (chosen - 1) / most_runs + 1 : 1;
  for (uint64_t i = 0; i < chosen; i += together) {
    // bands and chosen are row counts: their product is far below 2^64 for any file
    const uint64_t at = i * bands / chosen * band;
    out.push_back({at, std::min(std::min(together, chosen - i) * run_rows, rows - at)});
  }
  return out;
}

// Computes statistics from the sampled rows for a tensor without known ones; also samples as many
// rows of tensors that share statistics with it.
Status set_sample_stats(const Tensor& tensor, Rows& rows, const std::vector<RowRange>& ranges) {
  if (tensor.is_stored() || !tensor.codec->needs_stats) return {};
  Stats stats = tensor.recoded().stats.value_or(Stats{});
  if (!tensor.recoded().stats) {
    uint64_t seen = 0;
    for (const RowRange& range : ranges) {
      CKPT_TRY(rows.scan(range.first, range.count, stats));
      seen += range.count * tensor.row_values();
    }
    stats.own_amax = stats.amax;
    for (const auto& peer : tensor.recoded().peers) {
      Rows peer_rows(*peer);
      peer_rows.allow_nonfinite();
      for (const RowRange& range : choose_rows(*peer, band_of(peer_rows), seen)) {
        CKPT_TRY(peer_rows.scan(range.first, range.count, stats));
      }
    }
  }
  rows.set_stats(stats);
  return {};
}

Status check_same_shape(const Tensor& a, const Tensor& b) {
  if (a.rows() == b.rows() && a.row_values() == b.row_values()) return {};
  return unsupported("tensor '{}' is [{}], '{}' is [{}]; expected one shape", a.name,
                     fmt::join(a.shape, ", "), b.name, fmt::join(b.shape, ", "));
}

// Calls work(rows of a, rows of b) for the same rows of both tensors.
template <class Work>
Status for_each_pair(const Tensor& a, const Tensor& b, uint64_t limit_values, const Work& work) {
  CKPT_TRY(check_same_shape(a, b));
  Rows rows_a(a), rows_b(b);
  CKPT_TRY(rows_a.check());
  CKPT_TRY(rows_b.check());
  const Band band_a = band_of(rows_a), band_b = band_of(rows_b);
  const Band band{std::max(band_a.rows, band_b.rows), std::max(band_a.least, band_b.least)};
  const auto ranges = choose_rows(a, band, limit_values);
  CKPT_TRY(set_sample_stats(a, rows_a, ranges));
  CKPT_TRY(set_sample_stats(b, rows_b, ranges));
  for (const RowRange& range : ranges) {
    CKPT_ASSIGN(const ConstFloatRows values_a, rows_a.read(range.first, range.count));
    CKPT_ASSIGN(const ConstFloatRows values_b, rows_b.read(range.first, range.count));
    work(values_a, values_b);
  }
  return {};
}

}  // namespace

Result<float> find_amax(const Tensor& tensor) {
  Rows rows(tensor);
  CKPT_TRY(rows.check());
  const auto ranges = choose_rows(tensor, band_of(rows), UINT64_MAX);
  Stats stats;
  for (const RowRange& range : ranges) {
    if (!tensor.is_stored() && tensor.codec->scan != nullptr) {
      CKPT_TRY(rows.scan(range.first, range.count, stats));
      continue;
    }
    CKPT_ASSIGN(const ConstFloatRows values, rows.read(range.first, range.count));
    for (const float value : values.values) {
      if (std::isfinite(value)) stats.amax = std::max(stats.amax, std::fabs(value));
    }
  }
  return stats.amax;
}

double ValueError::sqnr_db() const {
  constexpr double kMost = 999;
  if (noise <= 0) return kMost;
  return signal > 0 ? std::min(kMost, 10 * std::log10(signal / noise)) : -kMost;
}

Result<ValueError> measure_error(const Tensor& made, const Tensor& reference,
                                 std::span<const float> column_weights, uint64_t limit_values) {
  CKPT_CHECK(column_weights.empty() || column_weights.size() == made.row_values());
  ValueError out;
  CKPT_TRY(for_each_pair(made, reference, limit_values, [&](ConstFloatRows a, ConstFloatRows b) {
    for (size_t i = 0; i < a.values.size(); ++i) {
      const double weight =
          column_weights.empty() ? 1 : double{column_weights[i % column_weights.size()]};
      const double expected = b.values[i], difference = expected - double{a.values[i]};
      out.signal += weight * expected * expected;
      out.noise += weight * difference * difference;
    }
  }));
  return out;
}

Status add_column_sums(const Tensor& a, const Tensor& b, ColumnSums& sums, uint64_t limit_values) {
  sums.square.resize(a.row_values());
  sums.product.resize(a.row_values());
  return for_each_pair(a, b, limit_values, [&](ConstFloatRows left, ConstFloatRows right) {
    for (size_t i = 0; i < left.values.size(); ++i) {
      const double value = left.values[i];
      sums.square[i % sums.square.size()] += value * value;
      sums.product[i % sums.square.size()] += value * double{right.values[i]};
    }
  });
}

Result<RowSample> sample_rows(const Tensor& tensor, uint64_t limit_values, uint64_t most_runs) {
  Rows rows(tensor);
  rows.allow_nonfinite();
  CKPT_TRY(rows.check());
  const auto ranges = choose_rows(tensor, band_of(rows), limit_values, most_runs);
  CKPT_TRY(set_sample_stats(tensor, rows, ranges));
  RowSample out;
  for (const RowRange& range : ranges) {
    CKPT_ASSIGN(const ConstFloatRows values, rows.read(range.first, range.count));
    out.values.insert(out.values.end(), values.values.begin(), values.values.end());
    for (uint64_t i = 0; i < range.count; ++i) out.rows.push_back(range.first + i);
  }
  return out;
}

}  // namespace ckpt
