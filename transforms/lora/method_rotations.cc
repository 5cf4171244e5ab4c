// OFT and BOFT multiply weights by orthogonal matrices, block by block of the inputs.
//
//   W' = W R^T        R = diag(R_0, R_1, ...), or one block for all
//   Cayley            R_i = (I - Q)(I + Q)^-1            Q skew
//   Cayley-Neumann    R_i = I + 2 Q + 2 Q^2 + ... + Q^n  OFT's default, in float as PEFT adds it
//   embeddings        W R
//   BOFT              diag(s) W (B_m ... B_1)^T          B_j = P_j R_j P_j^T, P_j a butterfly
#include <algorithm>
#include <cmath>

#include "transforms/lora/methods.h"

namespace ckpt {
namespace {

using Floats = RowChange::Floats;

// Solves (I - S) X = I + S in doubles, and writes X, which is the transposed Cayley matrix of S.
void write_cayley(std::span<const float> skew, uint64_t size, float* out) {
  const uint64_t wide = 2 * size;
  std::vector<double> both(size * wide);
  for (uint64_t i = 0; i < size; ++i) {
    for (uint64_t j = 0; j < size; ++j) {
      const double one = i == j ? 1 : 0;
      both[i * wide + j] = one - skew[i * size + j];
      both[i * wide + size + j] = one + skew[i * size + j];
    }
  }
  // The symmetric part of I - S is I, so no pivot is small.
  for (uint64_t k = 0; k < size; ++k) {
    double* const pivot = both.data() + k * wide;
    for (uint64_t j = wide; j-- > k;) pivot[j] /= pivot[k];
    for (uint64_t i = 0; i < size; ++i) {
      double* const row = both.data() + i * wide;
      const double factor = row[k];
      if (i == k || factor == 0) continue;
      for (uint64_t j = k; j < wide; ++j) row[j] -= factor * pivot[j];
    }
  }
  for (uint64_t i = 0; i < size; ++i) {
    for (uint64_t j = 0; j < size; ++j) {
      out[i * size + j] = static_cast<float>(both[i * wide + size + j]);
    }
  }
}

void transpose_square(float* values, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) {
    for (uint64_t j = 0; j < i; ++j) std::swap(values[i * size + j], values[j * size + i]);
  }
}

// Adds up the first `terms` terms of the series for Q. PEFT adds a fourth one to three.
void write_series(const Floats& skew, uint64_t size, uint64_t terms, const RowChange::Held& held,
                  float* out) {
  std::fill_n(out, size * size, 0.0F);
  for (uint64_t i = 0; i < size; ++i) out[i * size + i] = 1;
  if (terms == 3) terms = 4;
  Floats power = skew, next(skew.size());
  for (uint64_t term = 1; term < terms; ++term) {
    if (term > 1) {
      held.product({power, skew, size, 1}, {next, size});
      std::swap(power, next);
    }
    const float factor = term > 2 && term == terms - 1 ? 1 : 2;
    for (size_t i = 0; i < skew.size(); ++i) out[i] += factor * power[i];
  }
}

enum OftNumber : uint8_t { kOftBlock, kOftBlocks, kOftReach, kOftTerms, kOftEmbedding };

// COFT shortens a skew matrix that is farther than `reach` from 0.
void shorten_skew(std::span<float> upper, float reach) {
  double squares = 0;
  for (const float value : upper) squares += 2 * double{value} * double{value};
  const auto norm = static_cast<float>(std::sqrt(squares));
  if (norm <= reach) return;
  for (float& value : upper) value = reach * (value / norm);
}

// Computes the rotations from the factors, which hold the values of Q above its diagonal.
void make_oft_rotations(RowChange::Held& held) {
  const auto size = static_cast<uint64_t>(held.numbers[kOftBlock]);
  const auto blocks = static_cast<uint64_t>(held.numbers[kOftBlocks]);
  const bool is_exact = held.numbers[kOftTerms] < 0;
  const uint64_t terms = is_exact ? 0 : static_cast<uint64_t>(held.numbers[kOftTerms]);
  const bool is_embedding = held.numbers[kOftEmbedding] != 0;
  Floats made(blocks * size * size), skew(size * size);
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t count = size * (size - 1) / 2;
    const std::span<float> upper = std::span(held.factors[0]).subspan(block * count, count);
    if (held.numbers[kOftReach] >= 0) {
      shorten_skew(upper, static_cast<float>(held.numbers[kOftReach]));
    }
    for (uint64_t i = 0, at = 0; i < size; ++i) {
      for (uint64_t j = i + 1; j < size; ++j, ++at) {
        skew[i * size + j] = upper[at];
        skew[j * size + i] = -upper[at];
      }
    }
    float* const out = made.data() + block * size * size;
    if (is_exact) {
      write_cayley(skew, size, out);
    } else {
      write_series(skew, size, terms, held, out);
    }
    if (is_exact == is_embedding) transpose_square(out, size);
  }
  held.factors = {std::move(made)};
}

// Multiplies the blocks of each row by those of `turned`, [size, size], or all by the only one.
void rotate_blocks(std::span<const float> turned, uint64_t size, LowRankProduct product,
                   FloatRows rows) {
  Floats packed(rows.rows() * size), made(rows.rows() * size);
  const uint64_t square = size * size, count = turned.size() / square;
  for (uint64_t block = 0; block < rows.row_values / size; ++block) {
    float* const from = rows.values.data() + block * size;
    for (uint64_t i = 0; i < rows.rows(); ++i) {
      std::copy_n(from + i * rows.row_values, size, packed.data() + i * size);
    }
    const auto right = turned.subspan(std::min(block, count - 1) * square, square);
    product({packed, right, size, 1}, {made, size});
    for (uint64_t i = 0; i < rows.rows(); ++i) {
      std::copy_n(made.data() + i * size, size, from + i * rows.row_values);
    }
  }
}

void apply_oft(const RowChange::Held& held, uint64_t /*first*/, FloatRows rows) {
  rotate_blocks(held.factors[0], static_cast<uint64_t>(held.numbers[kOftBlock]), held.product,
                rows);
}

Result<RowChange> oft(const MethodModule& given) {
  const AdapterConfig& config = given.config();
  const bool is_embedding = given.has("oft_embedding_R");
  CKPT_ASSIGN(const Tensor upper, given.need(is_embedding ? "oft_embedding_R" : "oft_R", {0, 0}));
  if (!config.options.contains("oft_block_size")) {
    return unsupported_hint("training it again, or merging it with PEFT 0.13",
                            "no oft_block_size: PEFT changed OFT's adapters after 0.13");
  }
  const uint64_t count = upper.row_values(), blocks = upper.rows();
  const auto size = static_cast<uint64_t>(std::lround((1 + std::sqrt(1 + 8 * double(count))) / 2));
  const bool is_shared = blocks == 1 && config.option("block_share", 0) != 0;
  if (size * (size - 1) / 2 != count || given.columns % size != 0 ||
      (!is_shared && blocks * size != given.columns)) {
    return corrupt("tensor '{}': shape [{}] does not fit the weight [{}, {}]", upper.name,
                   fmt::join(upper.shape, ", "), given.rows, given.columns);
  }
  RowChange out;
  const float reach =
      1 / std::sqrt(static_cast<float>(blocks)) * static_cast<float>(config.option("eps", 6e-5));
  out.factors = {upper};
  out.numbers = {double(size), double(blocks), config.option("coft", 0) != 0 ? double{reach} : -1,
                 config.option("use_cayley_neumann", 1) != 0
                     ? config.option("num_cayley_neumann_terms", 5)
                     : -1,
                 is_embedding ? 1.0 : 0.0};
  out.prepared_values = (blocks + 9) * size * size;
  out.prepare = make_oft_rotations;
  out.apply = apply_oft;
  return out;
}

enum BoftNumber : uint8_t { kBoftBlock, kBoftStages };

void make_boft_rotations(RowChange::Held& held) {
  const auto size = static_cast<uint64_t>(held.numbers[kBoftBlock]);
  const uint64_t square = size * size;
  Floats& all = held.factors[0];
  Floats skew(square);
  for (uint64_t at = 0; at < all.size(); at += square) {
    for (uint64_t i = 0; i < square; ++i) {
      skew[i] = 0.5F * (all[at + i] - all[at + i % size * size + i / size]);
    }
    write_cayley(skew, size, all.data() + at);
  }
}

// Where a butterfly takes the inputs of a stage from: of each run of `wide`, the even halves of
// blocks, then the odd ones.
std::vector<uint32_t> butterfly(uint64_t columns, uint64_t wide, uint64_t half) {
  std::vector<uint32_t> out(columns);
  const uint64_t steps = wide / half, evens = (steps + 1) / 2;
  for (uint64_t i = 0; i < columns; ++i) {
    const uint64_t step = i % wide / half;
    const uint64_t from = step < evens ? 2 * step : 2 * (step - evens) + 1;
    out[i] = static_cast<uint32_t>(i / wide * wide + from * half + i % half);
  }
  return out;
}

void apply_boft(const RowChange::Held& held, uint64_t first, FloatRows rows) {
  const auto size = static_cast<uint64_t>(held.numbers[kBoftBlock]);
  const auto stages = static_cast<uint64_t>(held.numbers[kBoftStages]);
  const std::span<const float> all = held.factors[0];
  const uint64_t columns = rows.row_values;
  Floats row(columns);
  for (uint64_t stage = 0; stage < stages; ++stage) {
    std::vector<uint32_t> from;
    if (stages > 1) from = butterfly(columns, size << stage, size / 2);
    const auto move = [&](bool is_back) {
      for (uint64_t i = 0; i < rows.rows() && !from.empty(); ++i) {
        float* const values = rows.values.data() + i * columns;
        std::copy_n(values, columns, row.data());
        for (uint64_t k = 0; k < columns; ++k) {
          (is_back ? values[k] : values[from[k]]) = is_back ? row[from[k]] : row[k];
        }
      }
    };
    move(false);
    rotate_blocks(all.subspan(stage * columns * size, columns * size), size, held.product, rows);
    move(true);
  }
  for (uint64_t i = 0; i < rows.values.size(); ++i) {
    rows.values[i] *= held.factors[1][first + i / columns];
  }
}

Result<RowChange> boft(const MethodModule& given) {
  CKPT_ASSIGN(const Tensor blocks, given.need("boft_R", {0, 0, 0, 0}));
  CKPT_ASSIGN(const Tensor scales,
              given.need("boft_s", given.channels > 0 ? std::vector<uint64_t>{1, given.rows}
                                                      : std::vector<uint64_t>{given.rows, 1}));
  const uint64_t stages = blocks.shape[0], size = blocks.shape[3];
  const bool fits = blocks.shape[1] * size == given.columns && blocks.shape[2] == size &&
                    stages < 64 && given.columns % (size << (stages - 1)) == 0 &&
                    (stages == 1 || size % 2 == 0);
  if (!fits) {
    return corrupt("tensor '{}': shape [{}] does not fit the weight [{}, {}]", blocks.name,
                   fmt::join(blocks.shape, ", "), given.rows, given.columns);
  }
  RowChange out;
  out.factors = {blocks, scales};
  out.numbers = {double(size), double(stages)};
  out.prepared_values = 9 * size * size + 2 * given.columns;
  out.prepare = make_boft_rotations;
  out.apply = apply_boft;
  return out;
}

}  // namespace

extern constinit const AdapterMethod kOft{
    .type = "OFT",
    .name = "OFT",
    .factors = " oft_R oft_embedding_R ",
    .keys =
        " oft_block_size module_dropout init_weights coft eps block_share use_cayley_neumann"
        " num_cayley_neumann_terms ",
    .rows = oft};

extern constinit const AdapterMethod kBoft{
    .type = "BOFT",
    .name = "BOFT",
    .factors = " boft_R boft_s ",
    .keys = " boft_block_size boft_block_num boft_n_butterfly_factor boft_dropout init_weights ",
    .rows = boft};

}  // namespace ckpt
