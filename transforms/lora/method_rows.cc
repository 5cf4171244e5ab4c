// Methods that change the values of a row in place.
//
//   IA3    w_ij l_i, and the bias; of feedforward modules w_ij l_j; l of a convolution has a value
//          for each channel
//   HRA    w - 2 (w u_1) u_1^T, then u_2, ...; with apply_GS all at once, of orthogonal vectors
//   MiSS   w_ij + B[j mod r][i]     mini: B has fewer columns, which repeat
//          bat: blocks of r inputs: w + w B_o + B_o
#include <algorithm>
#include <cmath>
#include <numeric>

#include "transforms/lora/methods.h"

namespace ckpt {
namespace {

void scale_each_row(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  for (uint64_t i = 0; i < rows.values.size(); ++i) {
    rows.values[i] *= held.factors[0][first + i / rows.row_values];
  }
}

// The columns of a channel follow each other, and so do the rows of a group, whose channels have
// values of their own.
enum ColumnNumber : uint8_t { kChannelColumns, kGroupRows };

void scale_each_column(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  const auto kernel = static_cast<uint64_t>(held.numbers[kChannelColumns]);
  const auto group_rows = static_cast<uint64_t>(held.numbers[kGroupRows]);
  const uint64_t channels = rows.row_values / kernel;
  for (uint64_t i = 0; i < rows.values.size(); ++i) {
    const uint64_t group = (first + i / rows.row_values) / group_rows;
    rows.values[i] *= held.factors[0][group * channels + i % rows.row_values / kernel];
  }
}

// IA3 scales the inputs of feedforward modules and the outputs of all others. The shape of the
// factor tells which, except that of a convolution, [1, channels, 1, 1]. Returns whether it scales
// outputs.
bool scales_outputs(const MethodModule& given) {
  const Tensor* const* factor = find_mapped(given.module.factors, "ia3_l");
  if (factor == nullptr) return true;
  if ((*factor)->shape.size() <= 2) return (*factor)->row_values() == 1;
  const std::string& name = given.module.name;
  const AdapterConfig& config = given.config();
  const auto is_end = [&](const std::string& words) { return name.ends_with(words); };
  return std::ranges::none_of(config.feedforward, is_end) &&
         !(config.feedforward_names && config.feedforward_names->is_found_in(name));
}

Result<Tensor> ia3_factor(const MethodModule& given, uint64_t size, bool is_output) {
  const Tensor* const* found = find_mapped(given.module.factors, "ia3_l");
  const bool fits = found != nullptr && (*found)->shape.size() > 2 && (*found)->values() == size;
  if (fits) return **found;
  return given.need("ia3_l",
                    is_output ? std::vector<uint64_t>{size, 1} : std::vector<uint64_t>{1, size});
}

Result<RowChange> ia3(const MethodModule& given) {
  RowChange out;
  const bool is_output = scales_outputs(given), is_row = is_output != given.is_conv1d;
  const uint64_t columns = given.channels > 0 ? given.channels : given.columns;
  const Tensor* const* found = find_mapped(given.module.factors, "ia3_l");
  const uint64_t values = found == nullptr ? 0 : (*found)->values();
  const bool has_groups = given.channels > 0 && !is_output && values % columns == 0 && values > 0 &&
                          given.rows % (values / columns) == 0;
  const uint64_t groups = has_groups ? values / columns : 1;
  CKPT_ASSIGN(const Tensor factor,
              ia3_factor(given, is_row ? given.rows : groups * columns, is_output));
  out.factors = {factor};
  out.numbers = {double(given.columns / columns), double(given.rows / groups)};
  out.apply = is_row ? scale_each_row : scale_each_column;
  return out;
}

Result<RowChange> ia3_bias(const MethodModule& given) {
  RowChange out;
  if (!scales_outputs(given)) return out;
  CKPT_ASSIGN(const Tensor factor, ia3_factor(given, given.columns, true));
  out.factors = {factor};
  out.numbers = {1, 1};
  out.apply = scale_each_column;
  return out;
}

double dot(const double* a, const double* b, uint64_t size) {
  return std::inner_product(a, a + size, b, 0.0);
}

// Turns the columns of u into rows of length 1, and makes them orthogonal if apply_GS is set.
void make_reflections(RowChange::Held& held) {
  const auto rank = static_cast<uint64_t>(held.numbers[0]);
  const bool is_orthogonal = held.numbers[1] != 0;
  const RowChange::Floats u = std::move(held.factors[0]);
  const uint64_t size = u.size() / rank;
  std::vector<double> all(u.size());
  for (uint64_t k = 0; k < rank; ++k) {
    double* const own = all.data() + k * size;
    for (uint64_t i = 0; i < size; ++i) own[i] = u[i * rank + k];
    for (uint64_t j = 0; is_orthogonal && j < k; ++j) {
      const double* const other = all.data() + j * size;
      const double part = dot(other, own, size);
      for (uint64_t i = 0; i < size; ++i) own[i] -= part * other[i];
    }
    const double norm = std::sqrt(dot(own, own, size));
    for (uint64_t i = 0; i < size; ++i) own[i] /= norm;
  }
  held.factors[0].assign(all.begin(), all.end());
}

void reflect(const RowChange::Held& held, uint64_t /*first*/, FloatRows rows) {
  const uint64_t size = rows.row_values;
  const bool is_orthogonal = held.numbers[1] != 0;
  std::vector<double> made(size), given(size), u(size);
  for (uint64_t i = 0; i < rows.rows(); ++i) {
    float* const row = rows.values.data() + i * size;
    made.assign(row, row + size);
    given = made;
    for (auto at = held.factors[0].begin(); at != held.factors[0].end(); at += ptrdiff_t(size)) {
      u.assign(at, at + ptrdiff_t(size));
      const double part = 2 * dot((is_orthogonal ? given : made).data(), u.data(), size);
      for (uint64_t j = 0; j < size; ++j) made[j] -= part * u[j];
    }
    std::transform(made.begin(), made.end(), row, [](double x) { return static_cast<float>(x); });
  }
}

Result<RowChange> hra(const MethodModule& given) {
  CKPT_ASSIGN(const Tensor u, given.need("hra_u", {given.columns, 0}));
  RowChange out;
  out.factors = {u};
  out.numbers = {double(u.row_values()), given.config().option("apply_GS", 0)};
  out.prepared_values = 3 * u.values() + 6 * given.columns;
  out.prepare = make_reflections;
  out.apply = reflect;
  return out;
}

// B [r, c] of MiSS, and the number of its columns.
void add_repeated(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  const RowChange::Floats& b = held.factors[0];
  const auto columns = static_cast<uint64_t>(held.numbers[0]);
  const uint64_t rank = b.size() / columns;
  for (uint64_t i = 0; i < rows.rows(); ++i) {
    float* const row = rows.values.data() + i * rows.row_values;
    const float* const own = b.data() + (first + i) % columns;
    for (uint64_t j = 0; j < rows.row_values; ++j) row[j] += own[j % rank * columns];
  }
}

// B [outputs / r, r, r] of MiSS, and r.
void add_blocks(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  const auto rank = static_cast<uint64_t>(held.numbers[0]);
  RowChange::Floats delta(rows.row_values);
  for (uint64_t i = 0; i < rows.rows(); ++i) {
    const auto row = rows.values.subspan(i * rows.row_values, rows.row_values);
    const uint64_t block = (first + i) / rank;
    const auto b = std::span(held.factors[0]).subspan(block * rank * rank, rank * rank);
    const float* const own = b.data() + (first + i) % rank * rank;
    held.product({row, b, rank, 1}, {delta, rank});
    for (uint64_t j = 0; j < row.size(); ++j) row[j] += delta[j] + own[j % rank];
  }
}

Result<RowChange> miss(const MethodModule& given) {
  RowChange out;
  const std::string& start = given.config().start;
  if (start == "bat") {
    CKPT_ASSIGN(const Tensor b, given.need("miss_block", {0, 0, 0}));
    const uint64_t rank = b.row_values();
    CKPT_TRY(given.need("miss_block", {given.rows / rank, rank, rank}));
    if (given.rows % rank != 0 || given.columns % rank != 0) {
      return corrupt("tensor '{}': the weight [{}, {}] has no blocks of {}", b.name, given.rows,
                     given.columns, rank);
    }
    out.factors = {b};
    out.numbers = {double(rank)};
    out.apply = add_blocks;
    return out;
  }
  CKPT_ASSIGN(const Tensor b, given.need("miss_block", {0, start == "mini" ? 0 : given.rows}));
  if (given.rows % b.row_values() != 0) CKPT_TRY(given.need("miss_block", {0, given.rows}));
  out.factors = {b};
  out.numbers = {double(b.row_values())};
  out.apply = add_repeated;
  return out;
}

}  // namespace

extern constinit const AdapterMethod kIa3{.type = "IA3",
                                          .name = "IA3",
                                          .factors = " ia3_l ",
                                          .keys = " feedforward_modules init_ia3_weights ",
                                          .has_conv1d = true,
                                          .rows = ia3,
                                          .bias = ia3_bias};

extern constinit const AdapterMethod kHra{.type = "HRA",
                                          .name = "HRA",
                                          .factors = " hra_u ",
                                          .keys = " apply_GS init_weights ",
                                          .rows = hra};

extern constinit const AdapterMethod kMiss{.type = "MISS",
                                           .name = "MiSS",
                                           .factors = " miss_block ",
                                           .keys = " miss_dropout mini_r init_weights ",
                                           .rows = miss};

}  // namespace ckpt
