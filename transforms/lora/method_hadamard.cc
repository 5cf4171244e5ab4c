// LoHa and LoKr add a matrix that is a product value by value, or a Kronecker product. Each row of
// it can be computed without the others.
//
//   LoHa   W + ((w1_a w1_b) ∘ (w2_a w2_b)) s
//   LoKr   W + (w1 ⊗ w2) s          w1 = w1_a w1_b, or stored as it is; the same of w2
//
// Of a convolution with use_effective_conv2d, a product a b has three factors, a [r, outputs],
// b [r, inputs] and t [r, r, kernel]: w_pck = sum of a_ip b_jc t_ijk over i and j.
#include "transforms/lora/methods.h"

namespace ckpt {
namespace {

// Makes matrices [outputs, r] and [r, inputs x kernel] of a, b and t.
void flatten_core(RowChange::Floats& a, RowChange::Floats& b, const RowChange::Floats& t,
                  uint64_t rank) {
  const uint64_t outputs = a.size() / rank, inputs = b.size() / rank;
  const uint64_t kernel = t.size() / (rank * rank);
  RowChange::Floats left(a.size()), right(rank * inputs * kernel);
  for (uint64_t i = 0; i < a.size(); ++i) left[i % outputs * rank + i / outputs] = a[i];
  for (uint64_t at = 0; at < right.size(); ++at) {
    const uint64_t i = at / (inputs * kernel), c = at / kernel % inputs, k = at % kernel;
    for (uint64_t j = 0; j < rank; ++j) {
      right[at] += t[(i * rank + j) * kernel + k] * b[j * inputs + c];
    }
  }
  a = std::move(left);
  b = std::move(right);
}

struct ProductFactors {
  std::vector<Tensor> tensors;  // a, b and perhaps t
  uint64_t rank = 0, rows = 0, columns = 0;
};

// The factors NAME_a and NAME_b of a product, and `core`, if the module has it.
Result<ProductFactors> product_factors(const MethodModule& given, const std::string& name,
                                       const std::string& core) {
  ProductFactors out;
  const bool has_core = given.has(core);
  CKPT_ASSIGN(Tensor a, given.need(name + "_a", {0, 0}));
  out.rank = has_core ? a.rows() : a.row_values();
  CKPT_ASSIGN(Tensor b, given.need(name + "_b", {out.rank, 0}));
  CKPT_TRY(check_rank(given.config(), given.module, b, out.rank));
  out.rows = a.values() / out.rank;
  out.columns = b.row_values();
  out.tensors = {std::move(a), std::move(b)};
  if (!has_core) return out;
  const uint64_t kernel = given.channels == 0 ? 1 : given.columns / given.channels;
  const Tensor t = *given.module.factors.find(core)->second;
  if (t.values() != out.rank * out.rank * kernel) {
    CKPT_TRY(given.need(core, {out.rank, out.rank, kernel}));
  }
  out.columns *= kernel;
  out.tensors.push_back(t);
  return out;
}

enum HadamardNumber : uint8_t { kHadaScale, kHadaRank };

void multiply_cores(RowChange::Held& held) {
  std::vector<RowChange::Floats>& all = held.factors;
  const auto rank = static_cast<uint64_t>(held.numbers[kHadaRank]);
  for (const size_t a : {size_t{0}, size_t{3}}) flatten_core(all[a], all[a + 1], all[a + 2], rank);
  all.erase(all.begin() + 2);
  all.pop_back();
}

void add_hadamard(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  RowChange::Floats one(rows.values.size()), two(rows.values.size());
  const auto multiply = [&](size_t a, std::span<float> out) {
    const uint64_t rank = held.factors[a + 1].size() / rows.row_values;
    const auto left = std::span(held.factors[a]).subspan(first * rank, rows.rows() * rank);
    held.product({left, held.factors[a + 1], rank, 1}, {out, rows.row_values});
  };
  multiply(0, one);
  multiply(2, two);
  const float scale = static_cast<float>(held.numbers[kHadaScale]);
  for (size_t i = 0; i < rows.values.size(); ++i) {
    rows.values[i] += one[i] * two[i] * scale;
  }
}

Result<RowChange> loha(const MethodModule& given) {
  RowChange out;
  if (given.has("hada_t1") != given.has("hada_t2")) {
    CKPT_TRY(given.need(given.has("hada_t1") ? "hada_t2" : "hada_t1", {0, 0, 0, 0}));
  }
  for (const char* number : {"1", "2"}) {
    const std::string name = fmt::format("hada_w{}", number);
    CKPT_ASSIGN(const ProductFactors each,
                product_factors(given, name, fmt::format("hada_t{}", number)));
    if (each.rows != given.rows || each.columns != given.columns) {
      CKPT_TRY(given.need(name + "_b", {each.rank, given.columns}));
      CKPT_TRY(given.need(name + "_a", {given.rows, each.rank}));
    }
    out.factors.insert(out.factors.end(), each.tensors.begin(), each.tensors.end());
    out.numbers = {given.scale, double(each.rank)};
  }
  if (out.factors.size() == 6) {
    out.prepared_values = out.factors[0].values() * 4 + 2 * given.columns * out.factors[0].rows();
    out.prepare = multiply_cores;
  }
  out.apply = add_hadamard;
  return out;
}

enum KroneckerNumber : uint8_t { kScale, kRank1, kColumns1, kRank2, kRows2, kColumns2 };

// Computes w1 and w2 from the factors, which take their place. Only w2 may have three.
void multiply_kronecker(RowChange::Held& held) {
  std::vector<RowChange::Floats> made;
  size_t next = 0;
  for (const size_t at : {kRank1, kRank2}) {
    RowChange::Floats& out = made.emplace_back(std::move(held.factors[next++]));
    const auto rank = static_cast<uint64_t>(held.numbers[at]);
    if (rank == 0) continue;
    RowChange::Floats a = std::move(out), &b = held.factors[next++];
    if (at == kRank2 && next < held.factors.size()) flatten_core(a, b, held.factors[next], rank);
    out.assign(a.size() / rank * (b.size() / rank), 0);
    held.product({a, b, rank, 1}, {out, b.size() / rank});
  }
  held.factors = std::move(made);
}

void add_kronecker(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  const auto size = [&](size_t at) { return static_cast<uint64_t>(held.numbers[at]); };
  const uint64_t columns1 = size(kColumns1), rows2 = size(kRows2), columns2 = size(kColumns2);
  const auto scale = static_cast<float>(held.numbers[kScale]);
  for (uint64_t i = 0; i < rows.rows(); ++i) {
    float* out = rows.values.data() + i * rows.row_values;
    const float* const w1 = held.factors[0].data() + (first + i) / rows2 * columns1;
    const float* const w2 = held.factors[1].data() + (first + i) % rows2 * columns2;
    for (uint64_t k = 0; k < columns1; ++k) {
      for (uint64_t j = 0; j < columns2; ++j) *out++ += w1[k] * w2[j] * scale;
    }
  }
}

// w2 of a convolution has the axes of the kernel. Rank 0: stored as it is.
Result<ProductFactors> kronecker_factor(const MethodModule& given, const std::string& name) {
  if (!given.has(name)) {
    return product_factors(given, name, name == "lokr_w2" ? "lokr_t2" : "");
  }
  ProductFactors out;
  Tensor tensor = *given.module.factors.find(name)->second;
  out.rows = tensor.shape.empty() ? 1 : tensor.shape[0];
  out.columns = tensor.values() / out.rows;
  out.tensors = {std::move(tensor)};
  return out;
}

Result<RowChange> lokr(const MethodModule& given) {
  CKPT_ASSIGN(ProductFactors one, kronecker_factor(given, "lokr_w1"));
  CKPT_ASSIGN(ProductFactors two, kronecker_factor(given, "lokr_w2"));
  if (one.rows * two.rows != given.rows || one.columns * two.columns != given.columns) {
    return corrupt("tensor '{}': [{}, {}] x [{}, {}] does not fit the weight '{}' [{}, {}]",
                   given.module.first_tensor(), one.rows, one.columns, two.rows, two.columns,
                   given.module.name, given.rows, given.columns);
  }
  RowChange out;
  out.factors = std::move(one.tensors);
  out.factors.insert(out.factors.end(), two.tensors.begin(), two.tensors.end());
  out.numbers = {given.scale,      double(one.rank), double(one.columns),
                 double(two.rank), double(two.rows), double(two.columns)};
  out.prepared_values =
      one.rows * one.columns + two.rows * two.columns + two.rank * (two.rows + two.columns);
  out.prepare = multiply_kronecker;
  out.apply = add_kronecker;
  return out;
}

}  // namespace

extern constinit const AdapterMethod kLoHa{
    .type = "LOHA",
    .name = "LoHa",
    .factors = " hada_w1_a hada_w1_b hada_w2_a hada_w2_b hada_t1 hada_t2 ",
    .keys = " alpha rank_dropout module_dropout use_effective_conv2d init_weights ",
    .has_alpha = true,
    .has_scale = true,
    .rows = loha};

extern constinit const AdapterMethod kLoKr{
    .type = "LOKR",
    .name = "LoKr",
    .factors = " lokr_w1 lokr_w1_a lokr_w1_b lokr_w2 lokr_w2_a lokr_w2_b lokr_t2 ",
    .keys =
        " alpha rank_dropout module_dropout use_effective_conv2d init_weights decompose_both"
        " decompose_factor rank_dropout_scale ",
    .has_alpha = true,
    .has_scale = true,
    .rows = lokr};

}  // namespace ckpt
