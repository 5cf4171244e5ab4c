// Measures how much of the change of an adapter survives in the type of an output, on a sample of
// each weight that an adapter was merged into.
//
//   base (F32) ── + products, not rounded ─▶ merged        both with the operations of the output
//   share = sum of (stored - base) (merged - base)  /  sum of (merged - base) squared
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/counted.h"
#include "core/base/nearest.h"
#include "core/chunks/evaluate.h"
#include "core/chunks/written_source.h"
#include "core/computed/decoded_source.h"
#include "core/computed/merged_source.h"
#include "core/engine/compare.h"
#include "plan/conversion/pipeline.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

// Limits for the sampled values of all weights together, and of one weight.
constexpr uint64_t kMeasuredValues = uint64_t{1} << 20;
constexpr uint64_t kLeastMeasured = uint64_t{1} << 12, kMostMeasured = uint64_t{1} << 16;
constexpr uint64_t kMostRuns = 4;  // per weight: a server may be asked for each several times
constexpr uint64_t kMostSingleRows = 16;
constexpr double kLeastShare = 0.5;  // a weight that keeps less counts as lost to rounding
constexpr unsigned kMeasuringThreads = 8;  // each thread holds a matrix `A` as floats

enum class Products : uint8_t { kNone, kAll };

Result<Tensor> unrounded(const Tensor& stored, Products which);

// Rows [first, first + count) of the merged weight that `slice` is a part of.
Result<Tensor> rows_of_sum(const MergedSource& sum, const Slice& slice, Products which) {
  const Tensor& base = sum.base();
  const uint64_t row_bytes = sum.size_bytes() / base.rows();
  const uint64_t first = slice.offset_bytes / row_bytes, count = slice.size_bytes / row_bytes;
  CKPT_ASSIGN(const Tensor rows, take_rows(base, first, count));
  CKPT_ASSIGN(Tensor floats, unrounded(rows, which));
  if (which == Products::kNone) return floats;
  return sum.changed(floats, first);
}

// Decodes values of `codec` in rows of `columns` values.
Result<Tensor> unrounded(const Slice& slice, const Codec& codec, uint64_t columns, Products which) {
  const Codec& f32 = plain_codec(all_codecs(), Dtype::kF32);
  const uint64_t block_bytes = size_bytes(codec.parts[0].dtype);
  const uint64_t row_bytes = columns / codec.block_values * block_bytes;
  const bool is_cut_by_rows = slice.size_bytes % row_bytes == 0;
  const auto* sum = computed_as<MergedSource>(*slice.source);
  const auto* decoded = computed_as<DecodedSource>(*slice.source);
  const bool has_rows = slice.offset_bytes % row_bytes == 0 &&
                        (sum == nullptr || sum->base().row_values() == columns);
  if (is_cut_by_rows && has_rows && sum != nullptr) return rows_of_sum(*sum, slice, which);
  if (is_cut_by_rows && has_rows && decoded != nullptr) {
    const Codec& from = decoded->codec();
    const uint64_t from_bytes = columns / from.block_values * size_bytes(from.parts[0].dtype);
    Slice inner = decoded->encoded();
    inner.offset_bytes += slice.offset_bytes / row_bytes * from_bytes;
    inner.size_bytes = slice.size_bytes / row_bytes * from_bytes;
    return unrounded(inner, from, columns, which);
  }
  if (!is_cut_by_rows || reads_lora_merge(*slice.source)) {
    return unsupported("{}: not rows of the base", slice.source->name());
  }
  Tensor rows{"", {slice.size_bytes / row_bytes, columns}, &codec, Stored{{{slice}}}, "", ""};
  return stored_as_f32(rows, f32);
}

// Decodes to F32: either without what adapters add, or with it before any rounding.
Result<Tensor> unrounded(const Tensor& stored, Products which) {
  if (stored.codec->parts.size() != 1 || stored.codec->parts[0].tile_rows != 1) {
    return unsupported("tensor '{}': not in one part", stored.name);
  }
  std::vector<Tensor> pieces;
  for (const Slice& slice : stored.stored().parts[0]) {
    CKPT_ASSIGN(pieces.emplace_back(), unrounded(slice, *stored.codec, stored.row_values(), which));
  }
  return concatenate_rows(pieces);
}

// Rows [first, first + count) as `made` would hold them without rounding.
Result<std::vector<float>> values_of_rows(const Tensor& made, uint64_t first, uint64_t count,
                                          Products which) {
  CKPT_ASSIGN(const Tensor rows, take_rows(made.stored_tensor(), first, count));
  CKPT_ASSIGN(Tensor floats, unrounded(rows, which));
  for (const ValueOp& op : made.ops()) {
    if (std::holds_alternative<RoundTo>(op)) continue;
    if (std::holds_alternative<ScaleRows>(op)) {
      return unsupported("tensor '{}': rows are scaled", made.name);
    }
    CKPT_ASSIGN(floats, with_op(std::move(floats), op));
  }
  CKPT_ASSIGN(RowSample sample, sample_rows(floats, UINT64_MAX));
  return std::move(sample.values);
}

struct ChangeSums {
  double product = 0, squares = 0, error = 0;
};

// Sums, over sampled rows, the projection of the remaining change on the adapter's change.
Result<ChangeSums> sum_change(const Tensor& made, uint64_t limit_values) {
  const uint64_t columns = made.row_values();
  // Permuted rows are read one by one.
  const bool has_single_rows = made.stored_tensor().stored().parts[0].size() > made.rows() / 4;
  if (has_single_rows) limit_values = std::min(limit_values, kMostSingleRows * columns);
  CKPT_ASSIGN(const RowSample after, sample_rows(made, limit_values, kMostRuns));
  ChangeSums out;
  const std::vector<uint64_t>& rows = after.rows;
  for (size_t at = 0, end = 0; at < rows.size(); at = end) {
    for (end = at + 1; end < rows.size() && rows[end] == rows[end - 1] + 1;) ++end;
    const uint64_t first = rows[at], count = end - at;
    CKPT_ASSIGN(const auto before, values_of_rows(made, first, count, Products::kNone));
    CKPT_ASSIGN(const auto meant, values_of_rows(made, first, count, Products::kAll));
    for (size_t i = 0; i < before.size(); ++i) {
      const double kept = after.values[at * columns + i], delta = double{meant[i]} - before[i];
      out.product += (kept - before[i]) * delta;
      out.squares += delta * delta;
      out.error += (kept - meant[i]) * (kept - meant[i]);
    }
  }
  return out;
}

// Whether an adapter was merged into the tensor and rows can be read without reading all of it.
bool has_measured_sum(const Tensor& tensor) {
  bool found = false, scans = false;
  each_slice(tensor.stored_tensor(), [&](const Slice& slice) {
    found = found || reads_lora_merge(*slice.source);
    scans = scans || scans_when_read(*slice.source);
  });
  return found && !scans;
}

}  // namespace

Result<std::vector<MergedWeight>> measure_merged(const Output& output) {
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : output.checkpoint.tensors) {
    if (has_measured_sum(tensor)) tensors.push_back(&tensor);
  }
  if (tensors.empty()) return std::vector<MergedWeight>();
  const uint64_t limit_values =
      std::clamp(kMeasuredValues / tensors.size(), kLeastMeasured, kMostMeasured);
  std::vector<ChangeSums> sums(tensors.size());
  const unsigned threads = std::min(kMeasuringThreads, std::thread::hardware_concurrency());
  CKPT_TRY(for_each_parallel(tensors.size(), threads, [&](size_t i) -> Status {
    auto found = sum_change(*tensors[i], limit_values);
    if (found) sums[i] = *found;
    const bool is_measured = found || found.error().code == ErrorCode::kUnsupported;
    return is_measured ? Status() : Failure(std::move(found.error()));
  }));
  std::vector<MergedWeight> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const double kept = sums[i].product / sums[i].squares;
    if (!std::isfinite(kept)) continue;
    out.push_back({output.path.string(), tensors[i]->name, tensors[i]->codec, kept,
                   sums[i].squares < sums[i].error || kept < kLeastShare});
  }
  return out;
}

std::string note_of(const std::vector<MergedWeight>& merged) {
  double sum = 0;
  const MergedWeight* least = nullptr;
  size_t count = 0;
  std::vector<std::string> below;
  std::set<std::string_view> codecs;
  for (const MergedWeight& each : merged) {
    if (is_plain_float(*each.codec) && !each.is_below_rounding) continue;
    if (least == nullptr || each.kept < least->kept) least = &each;
    sum += each.kept;
    ++count;
    codecs.insert(each.codec->name);
    if (each.is_below_rounding) below.push_back(each.tensor);
  }
  if (least == nullptr) return {};
  std::string out = fmt::format(
      "lora: after encoding as {}, {} keep{} on average {:.0f} % of the adapter's change "
      "(minimum: {:.0f} %, '{}')",
      fmt::join(codecs, ", "), counted(count, "weight"), count == 1 ? "s" : "",
      100 * sum / static_cast<double>(count), 100 * least->kept, least->tensor);
  if (!below.empty()) {
    out += fmt::format(
        "; in {} of them it is smaller than the rounding error ({}): merge into unquantized "
        "weights, or into a type with more bits",
        below.size(), first_names(below));
  }
  return out;
}

}  // namespace ckpt
