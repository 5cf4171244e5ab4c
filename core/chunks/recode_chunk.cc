#include "core/chunks/recode_chunk.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/model/float_convert.h"

namespace ckpt {
namespace {

// The number of floats in a strip, which stays in the second-level cache from decoding to encoding.
constexpr uint64_t kStripValues = 32 << 10;
// The number of rows that vectors of any machine hold side by side.
constexpr uint64_t kFeedbackRows = 16;

bool is_flat(const Codec& codec) {
  return codec.parts.size() == 1 && codec.parts[0].tile_rows == 1 &&
         codec.parts[0].tile_values == codec.block_values;
}

// Whether strips may end inside a band of the source.
bool is_cut_inside_bands(const Tensor& tensor) {
  const Codec& from = *tensor.recoded().from->codec;
  return from.decodes_any_rows && tensor.codec->band_rows == 1;
}

bool works_on_columns(const ValueOp& op) {
  return std::holds_alternative<ScaleRows>(op) || std::holds_alternative<ScaleColumns>(op) ||
         std::holds_alternative<PermuteColumns>(op);
}

float round_to_bf16(float value) { return float_from_bf16(bf16_from_float(value)); }

float round_to_f16(float value) { return float_from_f16(f16_from_float(value)); }

struct ApplyOp {
  FloatRows rows;
  uint64_t first_row;
  std::vector<float>& permuted;

  void operator()(const AddScalar& op) const {
    for (float& value : rows.values) value = value + op.value;
  }
  // Computes exp in double and rounds once, which is correct in all but a few in 10^9 cases.
  void operator()(const SignedExp& op) const {
    for (float& value : rows.values) {
      value = op.sign * static_cast<float>(std::exp(static_cast<double>(value)));
    }
  }
  void operator()(const SignedLog& op) const {
    for (float& value : rows.values) {
      value = static_cast<float>(std::log(static_cast<double>(op.sign * value)));
    }
  }
  void operator()(const RoundTo& op) const {
    CKPT_CHECK(op.dtype == Dtype::kBF16 || op.dtype == Dtype::kF16);
    if (op.dtype == Dtype::kBF16) {
      for (float& value : rows.values) value = round_to_bf16(value);
    } else {
      for (float& value : rows.values) value = round_to_f16(value);
    }
  }
  void operator()(const ScaleRows& op) const {
    for (uint64_t row = 0; row < rows.rows(); ++row) {
      const float factor = (*op.factors)[first_row + row];
      for (float& value : rows.values.subspan(row * rows.row_values, rows.row_values)) {
        value *= factor;
      }
    }
  }
  void operator()(const ScaleColumns& op) const {
    for (uint64_t i = 0; i < rows.values.size(); ++i) {
      rows.values[i] *= (*op.factors)[i % rows.row_values];
    }
  }
  void operator()(const PermuteColumns& op) const {
    const std::vector<uint32_t>& index = *op.index;
    permuted.resize(rows.row_values);
    for (uint64_t row = 0; row < rows.rows(); ++row) {
      const auto values = rows.values.subspan(row * rows.row_values, rows.row_values);
      for (uint64_t i = 0; i < rows.row_values; ++i) permuted[i] = values[index[i]];
      std::ranges::copy(permuted, values.begin());
    }
  }
};

// The index of the first magnitude that is not below `end` (NaN and Inf never are), or the number
// of values. Adding the difference to `end`'s bits carries into the sign bit for magnitudes from
// `end` on: two operations per value, in any order.
uint64_t first_beyond(std::span<const float> values, float end) {
  constexpr uint64_t kRun = 128;
  const uint32_t lacking = 0x80000000u - std::bit_cast<uint32_t>(end);
  uint64_t i = 0;
  for (; i + kRun <= values.size(); i += kRun) {
    uint32_t carries = 0;
    for (uint64_t j = 0; j < kRun; ++j) {
      uint32_t bits;
      std::memcpy(&bits, &values[i + j], sizeof bits);
      carries |= (bits & 0x7FFFFFFFu) + lacking;
    }
    if ((carries & 0x80000000u) != 0) break;
  }
  for (; i < values.size(); ++i) {
    if (!(std::fabs(values[i]) < end)) return i;
  }
  return values.size();
}

Failure nonfinite_error(const Tensor& tensor, uint64_t index, const char* found) {
  const uint64_t row_values = tensor.row_values();
  const std::string& source = tensor.original_name();
  Failure failure = corrupt_hint(
      "look for the training step or merge that produced it; "
      "--allow-nonfinite converts it as it is",
      "tensor '{}': {} at row {}, column {}; expected finite weights", source, found,
      index / row_values, index % row_values);
  if (!tensor.home.empty()) failure = Failure(std::move(failure.value()).in(tensor.home));
  return failure;
}

const char* nonfinite_name(float value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

std::span<const float> weights_of(const Recoded& recoded, const Tensor& tensor, uint64_t row) {
  if (recoded.weights == nullptr) return {};
  const uint64_t columns = tensor.row_values();
  const uint64_t matrices = recoded.weights->weights.size() / columns;
  const uint64_t rows_each = tensor.rows() / matrices;
  return std::span(recoded.weights->weights).subspan(row / rows_each * columns, columns);
}

// The rows of one strip: as many complete bands as fit. If only the source has bands and can decode
// a few rows at a time, any rows of one band.
uint64_t most_strip_rows(const Tensor& tensor, const Grain& grain) {
  uint64_t rows = std::max<uint64_t>(1, kStripValues / std::max<uint64_t>(1, grain.row_values));
  const Recoded& recoded = tensor.recoded();
  const Codec& from = *recoded.from->codec;
  if (recoded.moments != nullptr) rows = std::max(rows, kFeedbackRows);
  if (is_cut_inside_bands(tensor)) return std::min<uint64_t>(rows, from.band_rows);
  return std::max(grain.band_rows, rows / grain.band_rows * grain.band_rows);
}

// The number of rows from `row` on, within one matrix.
uint64_t strip_rows(const RecodeInput& input, uint64_t row) {
  const Grain& grain = input.grain;
  const Recoded& recoded = input.tensor.recoded();
  uint64_t rows = most_strip_rows(input.tensor, grain);
  if (is_cut_inside_bands(input.tensor)) {
    const uint64_t band = recoded.from->codec->band_rows;
    rows = std::min(rows, band - row % band);
  }
  if (recoded.weights != nullptr) {
    const uint64_t matrices = recoded.weights->weights.size() / grain.row_values;
    const uint64_t rows_each = grain.rows / matrices;
    rows = std::min(rows, rows_each - (input.first_row + row) % rows_each);
  }
  return std::min(rows, input.rows - row);
}

// The bytes of each part for rows [row, row + rows) of the chunk.
template <class Byte>
std::vector<std::span<Byte>> strip_parts(const Codec& codec, const Grain& grain, uint64_t row,
                                         uint64_t rows, std::span<const std::span<Byte>> chunk) {
  std::vector<std::span<Byte>> out;
  for (size_t i = 0; i < codec.parts.size(); ++i) {
    const PartRule& rule = codec.parts[i];
    if (rule.tile_rows == 0) {
      out.push_back(chunk[i]);
      continue;
    }
    const PartShape shape = part_shape(rule, rows, grain.row_values);
    const uint64_t row_bytes = shape.elements * size_bytes(rule.dtype);
    out.push_back(chunk[i].subspan(row / rule.tile_rows * row_bytes, shape.size_bytes));
  }
  return out;
}

// `row` is relative to the chunk.
Failure too_large(const RecodeInput& input, uint64_t row) {
  const Tensor& tensor = input.tensor;
  const Codec& codec = *tensor.codec;
  const std::string& source = tensor.original_name();
  const uint64_t in_tensor =
      (input.first_row + row) * input.grain.row_values / std::max<uint64_t>(1, tensor.row_values());
  if (codec.block_values > 1) {
    const bool has_e4m3 = plain_dtype(codec) == Dtype::kNvfp4;
    return corrupt_hint(fmt::format("--tensor-type '{}=bf16'", source),
                        "tensor '{}': values of row {} are too large for the {} scales of {}",
                        source, in_tensor, has_e4m3 ? "UE4M3" : "float16", codec.name);
  }
  return corrupt_hint(plain_dtype(codec) == Dtype::kF16 ? "--to bf16" : "--to f32",
                      "tensor '{}': values of row {} are too large for {}", source, in_tensor,
                      codec.name);
}

// Requires that the codec could hold rows [row, row + rows) of the chunk, which `out` now contains.
Status check_overflow(const RecodeInput& input, uint64_t row, uint64_t rows, Parts out) {
  const Codec& codec = *input.tensor.codec;
  if (codec.first_overflow == nullptr || input.allow_nonfinite) return {};
  const std::vector<std::span<const std::byte>> encoded(out.begin(), out.end());
  const uint64_t bad = codec.first_overflow(encoded, rows, input.grain.row_values);
  return bad == rows ? Status() : too_large(input, row + bad);
}

Status encode_strip(const RecodeInput& input, uint64_t row, ConstFloatRows values, Parts out) {
  const Tensor& tensor = input.tensor;
  const Codec& codec = *tensor.codec;
  const uint64_t first = input.first_row + row;
  const uint64_t blocks = input.rows == 0 ? 0 : input.block_amax.size() / input.rows;
  const EncodeContext context{
      input.stats, weights_of(tensor.recoded(), tensor, first), tensor.recoded().options,
      input.block_amax.empty() ? input.block_amax
                               : input.block_amax.subspan(row * blocks, values.rows() * blocks),
      input.feedback};
  codec.encode(values, context, out);
  return check_overflow(input, row, values.rows(), out);
}

}  // namespace

Grain grain(const Tensor& tensor) {
  Grain out{tensor.rows(), tensor.row_values(), tensor.codec->band_rows};
  if (tensor.is_stored()) return out;
  const Recoded& recoded = tensor.recoded();
  const Codec& from = *recoded.from->codec;
  out.band_rows = std::max(out.band_rows, uint64_t{from.band_rows});
  const bool flat = is_flat(*tensor.codec) && is_flat(from) && recoded.weights == nullptr &&
                    recoded.moments == nullptr &&
                    std::ranges::none_of(recoded.ops, works_on_columns);
  if (!flat || out.row_values == 0) return out;
  // Short rows that divide the tensor's own rows, so that source and target can be cut equally.
  uint64_t row = std::max(tensor.codec->block_values, from.block_values);
  while (row < 1024 && out.row_values % (row * 2) == 0) row *= 2;
  const uint64_t values = tensor.values();
  return {values / row, row, 1};
}

uint64_t strip_bytes(const Tensor& tensor, const Grain& grain) {
  return most_strip_rows(tensor, grain) * grain.row_values * sizeof(float);
}

PartRange part_range(const PartRule& rule, const Grain& grain, uint64_t first, uint64_t rows) {
  if (rule.tile_rows == 0) return {0, part_shape(rule, grain.rows, grain.row_values).size_bytes};
  const uint64_t start = part_shape(rule, first, grain.row_values).size_bytes;
  return {start, part_shape(rule, rows, grain.row_values).size_bytes};
}

namespace {

// The operations, without a last one that only rounds as the codec will.
std::span<const ValueOp> ops_before_encoding(const Tensor& tensor) {
  const std::span<const ValueOp> ops = tensor.recoded().ops;
  const RoundTo* last = ops.empty() ? nullptr : std::get_if<RoundTo>(&ops.back());
  const bool is_repeated = last != nullptr && plain_dtype(*tensor.codec) == last->dtype;
  return ops.first(ops.size() - (is_repeated ? 1 : 0));
}

// Whether value `index` of the chunk is a finite F64.
bool is_finite_f64(const RecodeInput& input, uint64_t index) {
  if (plain_dtype(*input.tensor.recoded().from->codec) != Dtype::kF64) return false;
  double value;
  std::memcpy(&value, input.source[0].data() + index * sizeof value, sizeof value);
  return std::isfinite(value);
}

// Fails for values in rows from `row` on that are not below `end`.
Status check_values(const RecodeInput& input, uint64_t row, FloatRows values, float end) {
  if (input.allow_nonfinite) return {};
  const uint64_t bad = first_beyond(values.values, end);
  if (bad == values.values.size()) return {};
  const float found = values.values[bad];
  if (std::isfinite(found)) return too_large(input, row + bad / values.row_values);
  const uint64_t in_tensor = (input.first_row + row) * values.row_values + bad;
  if (is_finite_f64(input, row * values.row_values + bad)) {
    return corrupt(
        "tensor '{}': the value at row {}, column {} is too large for F32, as which F64 is read",
        input.tensor.original_name(), in_tensor / input.tensor.row_values(),
        in_tensor % input.tensor.row_values());
  }
  return nonfinite_error(input.tensor, in_tensor, nonfinite_name(found));
}

// Decodes rows [row, row + rows) of the chunk and applies the operations. Fails for values that the
// codec cannot hold.
Result<FloatRows> decode_strip(const RecodeInput& input, RecodeScratch& scratch, uint64_t row,
                               uint64_t rows) {
  const Recoded& recoded = input.tensor.recoded();
  const Codec& from = *recoded.from->codec;
  const uint64_t row_values = input.grain.row_values;
  auto* floats =
      reinterpret_cast<float*>(scratch.values.reserve(rows * row_values * sizeof(float)));
  const FloatRows values{{floats, rows * row_values}, row_values};
  from.decode(strip_parts<const std::byte>(from, input.grain, row, rows, input.source), values);
  const std::span<const ValueOp> ops = ops_before_encoding(input.tensor);
  const float end = input.tensor.codec->end;
  CKPT_TRY(check_values(input, row, values, ops.empty() ? end : kNoEnd));
  for (const ValueOp& op : ops) {
    std::visit(ApplyOp{values, input.first_row + row, scratch.permuted}, op);
  }
  if (ops.empty() || end == kNoEnd || input.allow_nonfinite) return values;
  const uint64_t bad = first_beyond(values.values, end);
  return bad == values.values.size() ? Result<FloatRows>(values)
                                     : too_large(input, row + bad / row_values);
}

// The source's bytes if the codec can encode them directly, else nothing.
std::span<const std::byte> plain_bf16(const RecodeInput& input) {
  const Recoded& recoded = input.tensor.recoded();
  const Codec& from = *recoded.from->codec;
  const bool is_plain = is_flat(from) && from.parts[0].dtype == Dtype::kBF16;
  const bool as_it_is = ops_before_encoding(input.tensor).empty() && recoded.weights == nullptr &&
                        recoded.moments == nullptr && input.block_amax.empty();
  return is_plain && as_it_is ? input.source[0] : std::span<const std::byte>();
}

// The number of bytes per block in a part that repack() accepts.
uint64_t block_bytes(const Codec& codec, const PartRule& rule) {
  return codec.block_values / rule.tile_values * size_bytes(rule.dtype);
}

// Gathers the parts of one row with its blocks in the order of `index`.
class PermutedRow {
 public:
  explicit PermutedRow(const Codec& codec) : codec_(codec), bytes_(codec.parts.size()) {}

  ConstParts make(ConstParts parts, uint64_t row, uint64_t row_values,
                  const std::vector<uint32_t>& index) {
    views_.clear();
    for (size_t i = 0; i < codec_.parts.size(); ++i) {
      const PartRule& rule = codec_.parts[i];
      if (rule.tile_rows == 0) {
        views_.push_back(parts[i]);
        continue;
      }
      const uint64_t size = block_bytes(codec_, rule);
      const uint64_t blocks = row_values / codec_.block_values;
      const std::byte* in = parts[i].data() + row * blocks * size;
      bytes_[i].resize(blocks * size);
      for (uint64_t b = 0; b < blocks; ++b) {
        const uint64_t from = index[b * codec_.block_values] / codec_.block_values;
        std::memcpy(bytes_[i].data() + b * size, in + from * size, size);
      }
      views_.push_back(bytes_[i]);
    }
    return views_;
  }

 private:
  const Codec& codec_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::span<const std::byte>> views_;
};

// Combines permutations: they apply in order, so the last one is looked up first.
std::vector<uint32_t> joined(const std::vector<ValueOp>& ops) {
  std::vector<uint32_t> out = *std::get<PermuteColumns>(ops.back()).index;
  for (size_t i = ops.size() - 1; i-- > 0;) {
    for (uint32_t& column : out) column = (*std::get<PermuteColumns>(ops[i]).index)[column];
  }
  return out;
}

std::vector<std::span<std::byte>> row_parts(const RecodeInput& input, uint64_t row, Parts out) {
  std::vector<std::span<std::byte>> parts;
  for (size_t i = 0; i < out.size(); ++i) {
    const PartRule& rule = input.tensor.codec->parts[i];
    const uint64_t size = part_shape(rule, 1, input.grain.row_values).size_bytes;
    parts.push_back(rule.tile_rows == 0 ? out[i] : out[i].subspan(row * size, size));
  }
  return parts;
}

Status refused(const RecodeInput& input, uint64_t row) {
  const Tensor& tensor = input.tensor;
  const std::string& source = tensor.original_name();
  const Repack& repack = *tensor.recoded().repack;
  const std::string advice = repack.advice.empty()
                                 ? "the exporter that wrote it; --allow-nonfinite moves it as it is"
                                 : std::string(repack.advice);
  Failure failure = corrupt_hint(advice, "tensor '{}': row {} has {}; {} has none", source,
                                 input.first_row + row, repack.refused, tensor.codec->name);
  if (!tensor.home.empty()) failure = Failure(std::move(failure.value()).in(tensor.home));
  return failure;
}

// Repacks a chunk. Fails: kCorrupt for rows that the codec rejects, except for rows that are not
// finite if input.allow_nonfinite is set.
Status repack_chunk(const RecodeInput& input, Parts out) {
  const Recoded& recoded = input.tensor.recoded();
  const uint64_t row_values = input.grain.row_values;
  uint64_t bad = input.rows;
  if (recoded.ops.empty()) {
    bad = recoded.repack->move(input.source, input.rows, row_values, out);
  } else {
    const std::vector<uint32_t> index = joined(recoded.ops);
    PermutedRow permuted(*recoded.repack->from);
    for (uint64_t row = 0; row < input.rows; ++row) {
      const ConstParts source = permuted.make(input.source, row, row_values, index);
      const bool moved =
          recoded.repack->move(source, 1, row_values, row_parts(input, row, out)) == 1;
      if (!moved) bad = std::min(bad, row);
    }
  }
  const bool may_pass = input.allow_nonfinite && recoded.repack->advice.empty();
  if (bad == input.rows || may_pass) return {};
  return refused(input, bad);
}

}  // namespace

Status recode_chunk(const RecodeInput& input, RecodeScratch& scratch, Parts out) {
  if (input.tensor.recoded().repack != nullptr) return repack_chunk(input, out);
  const Codec& codec = *input.tensor.codec;
  const auto bf16 = plain_bf16(input);
  const EncodeContext context{input.stats, {}, input.tensor.recoded().options};
  if (!bf16.empty() && codec.encode_bf16 != nullptr && codec.encode_bf16(bf16, context, out)) {
    return check_overflow(input, 0, input.rows, out);
  }
  for (uint64_t row = 0; row < input.rows;) {
    const uint64_t rows = strip_rows(input, row);
    CKPT_ASSIGN(const FloatRows values, decode_strip(input, scratch, row, rows));
    const auto parts = strip_parts<std::byte>(codec, input.grain, row, rows, out);
    CKPT_TRY(encode_strip(input, row, {values.values, values.row_values}, parts));
    row += rows;
  }
  return {};
}

Status scan_chunk(const RecodeInput& input, RecodeScratch& scratch, Stats& stats) {
  const Codec& codec = *input.tensor.codec;
  const auto bf16 = plain_bf16(input);
  if (!bf16.empty() && codec.scan_bf16 != nullptr && codec.scan_bf16(bf16, stats)) return {};
  for (uint64_t row = 0; row < input.rows;) {
    const uint64_t rows = strip_rows(input, row);
    CKPT_ASSIGN(const FloatRows values, decode_strip(input, scratch, row, rows));
    codec.scan({values.values, values.row_values}, stats);
    row += rows;
  }
  return {};
}

namespace {

// The first position whose exponent bits are all ones, for elements of type Bits.
template <class Bits>
uint64_t first_with_exponent(std::span<const std::byte> bytes, Bits mask) {
  const uint64_t count = bytes.size() / sizeof(Bits);
  constexpr uint64_t kRun = 256;
  for (uint64_t i = 0; i < count; i += kRun) {
    const uint64_t end = std::min(i + kRun, count);
    Bits found = 0;
    for (uint64_t j = i; j < end; ++j) {
      Bits bits;
      std::memcpy(&bits, bytes.data() + j * sizeof bits, sizeof bits);
      found = static_cast<Bits>(found | static_cast<Bits>((bits & mask) == mask));
    }
    if (found == 0) continue;
    for (uint64_t j = i; j < end; ++j) {
      Bits bits;
      std::memcpy(&bits, bytes.data() + j * sizeof bits, sizeof bits);
      if ((bits & mask) == mask) return j;
    }
  }
  return count;
}

}  // namespace

Status check_finite(const Tensor& tensor, const Codec& codec, uint64_t first_value,
                    std::span<const std::byte> bytes) {
  if (codec.parts.size() != 1) return {};
  const Dtype dtype = codec.parts[0].dtype;
  const uint64_t count = bytes.size() / size_bytes(dtype);
  uint64_t bad = count;
  if (dtype == Dtype::kBF16) bad = first_with_exponent<uint16_t>(bytes, 0x7F80);
  if (dtype == Dtype::kF16) bad = first_with_exponent<uint16_t>(bytes, 0x7C00);
  if (dtype == Dtype::kF32) bad = first_with_exponent<uint32_t>(bytes, 0x7F800000u);
  if (bad == count) return {};
  float value = 0;
  const std::span<const std::byte> one = bytes.subspan(bad * size_bytes(dtype), size_bytes(dtype));
  codec.decode(std::span(&one, 1), {std::span(&value, 1), 1});
  return nonfinite_error(tensor, first_value + bad, nonfinite_name(value));
}

}  // namespace ckpt
