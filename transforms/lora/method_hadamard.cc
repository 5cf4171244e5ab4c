// LoHa and LoKr add a matrix that is a product value by value, or a Kronecker product. Each row of
// it can be computed without the others.
//
//   LoHa   W + ((w1_a w1_b) ∘ (w2_a w2_b)) s
//   LoKr   W + (w1 ⊗ w2) s          w1 = w1_a w1_b, or stored as it is; the same of w2
#include "transforms/lora/methods.h"

namespace ckpt {
namespace {

void add_hadamard(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  RowChange::Floats one(rows.values.size()), two(rows.values.size());
  const auto multiply = [&](size_t a, std::span<float> out) {
    const uint64_t rank = held.factors[a + 1].size() / rows.row_values;
    const auto left = std::span(held.factors[a]).subspan(first * rank, rows.rows() * rank);
    held.product({left, held.factors[a + 1], rank, 1}, {out, rows.row_values});
  };
  multiply(0, one);
  multiply(2, two);
  const float scale = static_cast<float>(held.numbers[0]);
  for (size_t i = 0; i < rows.values.size(); ++i) {
    rows.values[i] += one[i] * two[i] * scale;
  }
}

Result<RowChange> loha(const MethodModule& given) {
  RowChange out;
  for (const char* number : {"1", "2"}) {
    CKPT_ASSIGN(const Tensor b, given.need(fmt::format("hada_w{}_b", number), {0, given.columns}));
    CKPT_ASSIGN(const Tensor a,
                given.need(fmt::format("hada_w{}_a", number), {given.rows, b.rows()}));
    CKPT_TRY(check_rank(given.config(), given.module, b, b.rows()));
    out.factors.insert(out.factors.end(), {a, b});
  }
  out.numbers = {given.scale};
  out.apply = add_hadamard;
  return out;
}

enum KroneckerNumber : uint8_t { kScale, kRank1, kColumns1, kRank2, kRows2, kColumns2 };

// Computes w1 and w2 from the factors, which take their place.
void multiply_kronecker(RowChange::Held& held) {
  std::vector<RowChange::Floats> made;
  size_t next = 0;
  for (const size_t at : {kRank1, kRank2}) {
    RowChange::Floats& out = made.emplace_back(std::move(held.factors[next++]));
    const auto rank = static_cast<uint64_t>(held.numbers[at]);
    if (rank == 0) continue;
    const RowChange::Floats a = std::move(out), &b = held.factors[next++];
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

struct KroneckerFactor {
  std::vector<Tensor> tensors;
  uint64_t rank = 0, rows = 0, columns = 0;  // rank 0: stored as it is
};

// w2 of a convolution has the axes of the kernel.
Result<KroneckerFactor> kronecker_factor(const MethodModule& given, const std::string& name) {
  KroneckerFactor out;
  if (given.has(name)) {
    Tensor tensor = *given.module.factors.find(name)->second;
    out.rows = tensor.shape.empty() ? 1 : tensor.shape[0];
    out.columns = tensor.values() / out.rows;
    out.tensors = {std::move(tensor)};
    return out;
  }
  CKPT_ASSIGN(const Tensor a, given.need(name + "_a", {0, 0}));
  out.rank = a.row_values();
  out.rows = a.rows();
  CKPT_ASSIGN(const Tensor b, given.need(name + "_b", {out.rank, 0}));
  CKPT_TRY(check_rank(given.config(), given.module, b, out.rank));
  out.columns = b.row_values();
  out.tensors = {a, b};
  return out;
}

Result<RowChange> lokr(const MethodModule& given) {
  CKPT_ASSIGN(KroneckerFactor one, kronecker_factor(given, "lokr_w1"));
  CKPT_ASSIGN(KroneckerFactor two, kronecker_factor(given, "lokr_w2"));
  if (one.rows * two.rows != given.rows || one.columns * two.columns != given.columns) {
    return corrupt("tensor '{}': [{}, {}] x [{}, {}] does not fit the weight '{}' [{}, {}]",
                   given.module.first_tensor(), one.rows, one.columns, two.rows, two.columns,
                   given.module.name, given.rows, given.columns);
  }
  RowChange out;
  out.factors = std::move(one.tensors);
  out.factors.insert(out.factors.end(), two.tensors.begin(), two.tensors.end());
  out.numbers = {given.scale, double(one.rank), double(one.columns),
                 double(two.rank), double(two.rows), double(two.columns)};
  out.prepared_values = one.rows * one.columns + two.rows * two.columns;
  out.prepare = multiply_kronecker;
  out.apply = add_kronecker;
  return out;
}

}  // namespace

// A convolution with use_effective_conv2d has hada_t1 or lokr_t2 in addition, which no module of a
// language model needs; they are names that no adapter uses.
extern constinit const AdapterMethod kLoHa{
    .type = "LOHA",
    .name = "LoHa",
    .factors = " hada_w1_a hada_w1_b hada_w2_a hada_w2_b ",
    .keys = " alpha rank_dropout module_dropout use_effective_conv2d init_weights ",
    .has_alpha = true,
    .has_scale = true,
    .rows = loha};

extern constinit const AdapterMethod kLoKr{
    .type = "LOKR",
    .name = "LoKr",
    .factors = " lokr_w1 lokr_w1_a lokr_w1_b lokr_w2 lokr_w2_a lokr_w2_b ",
    .keys = " alpha rank_dropout module_dropout use_effective_conv2d init_weights decompose_both"
            " decompose_factor rank_dropout_scale ",
    .has_alpha = true,
    .has_scale = true,
    .rows = lokr};

}  // namespace ckpt
