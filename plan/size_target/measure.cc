// Measures the error of types by encoding and decoding sampled rows of each tensor.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/threads.h"
#include "core/chunks/evaluate.h"
#include "core/engine/compare.h"
#include "core/io/remote_files.h"
#include "plan/size_target/measured_file.h"

namespace ckpt {
namespace {

// Sampled rows of one matrix of a stack. All rows share the weights of the columns.
struct MatrixRows {
  ConstFloatRows rows;
  std::span<const float> weights;  // empty: equal
};

std::vector<MatrixRows> split_by_matrix(const TypesToMeasure& tensor, const RowSample& sample) {
  const uint64_t columns = tensor.values.row_values();
  const uint64_t matrices =
      tensor.weights == nullptr ? 1 : tensor.weights->weights.size() / columns;
  const uint64_t matrix_rows = std::max<uint64_t>(1, tensor.values.rows() / matrices);
  std::vector<MatrixRows> out;
  for (size_t first = 0, end = 0; first < sample.rows.size(); first = end) {
    const uint64_t matrix = sample.rows[first] / matrix_rows;
    while (end < sample.rows.size() && sample.rows[end] / matrix_rows == matrix) ++end;
    const auto values = std::span(sample.values).subspan(first * columns, (end - first) * columns);
    std::span<const float> weights;
    if (tensor.weights != nullptr) {
      weights = std::span(tensor.weights->weights).subspan(matrix * columns, columns);
    }
    out.push_back({{values, columns}, weights});
  }
  return out;
}

struct Squares {
  double signal = 0, noise = 0;
};

void add_squares(const MatrixRows& matrix, std::span<const float> decoded, Squares& out) {
  const uint64_t columns = matrix.rows.row_values;
  for (size_t i = 0; i < decoded.size(); ++i) {
    const double weight = matrix.weights.empty() ? 1 : double{matrix.weights[i % columns]};
    const double value = matrix.rows.values[i], error = value - double{decoded[i]};
    out.signal += weight * value * value;
    out.noise += weight * error * error;
  }
}

bool searches(const Codec& codec, ScaleSearch search) {
  const auto type = plain_dtype(codec);
  const bool has_best = type && info(*type).search == SearchUse::kScales;
  return codec.scheme == Scheme::kNvfp4 || (has_best && search == ScaleSearch::kBest);
}

// The encoded bytes of rows, for each part of a codec.
struct CodedRows {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::span<std::byte>> parts;
  std::vector<std::span<const std::byte>> written;

  CodedRows(const Codec& codec, uint64_t rows, uint64_t columns) {
    for (const PartRule& rule : codec.parts) {
      bytes.emplace_back(part_shape(rule, rows, columns).size_bytes);
    }
    for (auto& part : bytes) parts.emplace_back(part);
    for (auto& part : bytes) written.emplace_back(part);
  }
};

double error_of(const Codec& codec, const std::vector<MatrixRows>& matrices, ScaleSearch search) {
  Squares sum;
  Stats stats;
  if (codec.needs_stats) {
    for (const MatrixRows& matrix : matrices) codec.scan(matrix.rows, stats);
    stats.own_amax = stats.amax;
  }
  std::vector<float> decoded;
  for (const MatrixRows& matrix : matrices) {
    const uint64_t rows = matrix.rows.rows(), columns = matrix.rows.row_values;
    CodedRows coded(codec, rows, columns);
    decoded.resize(matrix.rows.values.size());
    EncodeContext context{stats, matrix.weights};
    if (searches(codec, search)) context.options.search = search;
    codec.encode(matrix.rows, context, coded.parts);
    codec.decode(coded.written, {decoded, columns});
    add_squares(matrix, decoded, sum);
  }
  return sum.signal > 0 ? sum.noise / sum.signal : 0;
}

uint64_t work_of(const TypesToMeasure& tensor) {
  return std::min(tensor.values.values(), kMeasuredValues) * tensor.codecs.size();
}

Result<std::vector<double>> measure(const TypesToMeasure& tensor, const MeasureOptions& options) {
  CKPT_ASSIGN(RowSample sample, sample_rows(tensor.values, kMeasuredValues));
  for (float& value : sample.values) value = std::isfinite(value) ? value : 0;
  const std::vector<MatrixRows> matrices = split_by_matrix(tensor, sample);
  std::vector<double> out;
  for (const Codec* codec : tensor.codecs) {
    CKPT_TRY(check_not_interrupted(options.interrupted, "; nothing was written"));
    out.push_back(error_of(*codec, matrices, tensor.search));
  }
  return out;
}

}  // namespace

Result<std::vector<std::vector<double>>> measure_types(const std::vector<TypesToMeasure>& tensors,
                                                       const MeasureOptions& options) {
  std::vector<std::vector<double>> errors(tensors.size());
  std::mutex mutex;
  uint64_t done = 0, total = 0;
  for (const TypesToMeasure& tensor : tensors) total += work_of(tensor);
  const unsigned threads =
      std::max(cores_or(options.threads), options.is_read_far ? kReadsOfServer : 1);
  CKPT_TRY(for_each_parallel(tensors.size(), threads, [&](size_t i) -> Status {
    CKPT_ASSIGN(errors[i], measure(tensors[i], options));
    const std::lock_guard lock(mutex);
    done += work_of(tensors[i]);
    if (options.progress != nullptr) options.progress->advanced(done, total);
    return {};
  }));
  return errors;
}

}  // namespace ckpt
