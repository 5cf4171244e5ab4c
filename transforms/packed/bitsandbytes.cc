// bitsandbytes: 4-bit floats by a table, in blocks of a flattened weight, and 8 bits with a scale
// per row.
//
//   P.weight U8 [values / 2, 1]              two codes per byte, high bits first
//   P.weight.quant_state.bitsandbytes__nf4   JSON: blocksize, shape, nested_blocksize,
//   nested_offset P.weight.quant_map F32 [16]              value = map[code] x absmax[block]
//   P.weight.absmax F32 [blocks]
//   or in two levels: absmax U8, nested_quant_map F32 [256], nested_absmax F32
//                                            absmax = map[code] x nested_absmax[block] + offset
//
//   P.weight I8 [N, K], P.SCB F32 [N]        value = code x SCB x (1 / 127), P.weight_format 0
//
// Values are F32; each operation rounds once. Note: P.weight may have another type with the same
// bytes (bnb_4bit_quant_storage).
// Source: bitsandbytes functional.py (QuantState, dequantize_4bit, int8_vectorwise_dequant).
#include <cmath>

#include "core/base/arithmetic.h"
#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxStateBytes = 64 << 10;
constexpr std::array<uint8_t, 8> kHighFirst = {1, 0, 3, 2, 5, 4, 7, 6};
constexpr float kOneOf127 = 7.874015718698502e-3F;

const Tensor* find_bits_state(const PackedJob& job, const Tensor& weight) {
  const Tensor* nf4 = job.find(weight.name + ".quant_state.bitsandbytes__nf4");
  return nf4 != nullptr ? nf4 : job.find(weight.name + ".quant_state.bitsandbytes__fp4");
}

bool is_four_bits(const PackedJob& job, const Tensor& tensor) {
  return find_bits_state(job, tensor) != nullptr;
}

struct BitsState {
  std::vector<uint64_t> shape;
  uint64_t values = 0, block = 0, nested_block = 0;
  std::optional<float> nested_offset;
};

Result<BitsState> read_bits_state(const Tensor& tensor) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  CKPT_ASSIGN(const std::string text, read_bytes(tensor, kMaxStateBytes));
  CKPT_ASSIGN(const JsonText json, in(place, JsonText::parse(text)));
  BitsState out;
  out.block = json.find_whole("blocksize").value_or(0);
  out.nested_block = json.find_whole("nested_blocksize").value_or(0);
  if (const JsonText* offset = json.find("nested_offset")) {
    char* end = nullptr;
    const float value = std::strtof(offset->token().c_str(), &end);
    if (!offset->token().empty() && *end == '\0') out.nested_offset = value;
  }
  out.shape = wholes_in(json.find("shape"));
  out.values = product(out.shape).value_or(0);
  const bool is_known = out.values != 0 && out.shape.size() <= kMaxDimensions &&
                        out.block % 8 == 0 && out.block != 0 &&
                        std::isfinite(out.nested_offset.value_or(0));
  if (is_known) return out;
  return corrupt("{}: no shape and blocksize of a multiple of 8 in it", place);
}

Result<std::shared_ptr<const std::vector<float>>> read_map(const Tensor& map, uint64_t count) {
  if (!is_float_grid(map, 1) || map.values() != count) {
    return wrong_part(map, fmt::format("f32 [{}], a value for each code", count));
  }
  CKPT_ASSIGN(std::vector<float> values, read_values(map, count));
  return std::make_shared<const std::vector<float>>(std::move(values));
}

// The largest magnitude of each block, in F32 or as codes themselves.
Result<Slice> largest_of_blocks(const PackedJob& job, const Tensor& weight, const BitsState& state,
                                PackedWeight& out) {
  CKPT_ASSIGN(const Tensor* absmax, job.need(weight.name + ".absmax", weight));
  out.parts.push_back(absmax);
  const uint64_t blocks = divide_up(state.values, state.block);
  if (is_plain_grid(*absmax, Dtype::kF32, 1) && absmax->values() == blocks) {
    return only_slice(*absmax);
  }
  if (!is_plain_grid(*absmax, Dtype::kU8, 1) || absmax->values() != blocks) {
    return wrong_part(*absmax, fmt::format("f32 or u8 [{}], one for each block", blocks));
  }
  CKPT_ASSIGN(const Tensor* nested, job.need(weight.name + ".nested_absmax", weight));
  CKPT_ASSIGN(const Tensor* map, job.need(weight.name + ".nested_quant_map", weight));
  out.parts.insert(out.parts.end(), {nested, map});
  if (state.nested_block == 0 || !state.nested_offset) {
    return corrupt(
        "tensor '{}' has codes of their own for its scales; expected numbers nested_blocksize and "
        "nested_offset in its quant_state",
        weight.name);
  }
  CodedMatrix matrix{.rows = 1, .columns = blocks, .codes = byte_codes(*absmax, 1, blocks)};
  CKPT_ASSIGN(matrix.table, read_map(*map, 256));
  const bool is_whole = is_plain_grid(*nested, Dtype::kF32, 1) &&
                        nested->values() == divide_up(blocks, state.nested_block);
  if (!is_whole) {
    return wrong_part(*nested,
                      fmt::format("f32, one for each {} of {} blocks", state.nested_block, blocks));
  }
  matrix.scales = {.bytes = only_slice(*nested),
                   .dtype = Dtype::kF32,
                   .rows = 1,
                   .columns = nested->values(),
                   .tile_rows = 1,
                   .tile_columns = state.nested_block};
  matrix.addend = *state.nested_offset;
  const auto source = std::make_shared<const CodedSource>(absmax->name, std::move(matrix));
  return Slice{source, 0, source->size_bytes()};
}

// The codes, the value of each code and the largest magnitude of each block.
struct BlockedCodes {
  Slice codes, largest;
  std::shared_ptr<const std::vector<float>> table;
};

// A matrix from consecutive blocks: `rows` of `columns` values.
CodedMatrix matrix_of_blocks(const BlockedCodes& from, uint64_t first_value, uint64_t first_block,
                             uint64_t rows, uint64_t columns) {
  CodedMatrix out{.rows = rows, .columns = columns, .table = from.table};
  out.codes = {.bytes = from.codes,
               .outer = rows,
               .inner = columns,
               .bits = 4,
               .word_bytes = columns % 8 == 0 ? 4u : 1u,
               .places = kHighFirst};
  out.codes.bytes.offset_bytes += first_value / 2;
  out.codes.bytes.size_bytes = out.codes.size_bytes();
  out.scales.bytes = from.largest;
  out.scales.bytes.offset_bytes += first_block * sizeof(float);
  out.scales.bytes.size_bytes = rows * sizeof(float);
  out.scales.rows = rows;
  out.scales.columns = 1;
  out.scales.tile_columns = columns;
  return out;
}

Result<PackedWeight> join_four_bits(const PackedJob& job, const Tensor& weight) {
  const Tensor& state_tensor = *find_bits_state(job, weight);
  CKPT_ASSIGN(const BitsState state, read_bits_state(state_tensor));
  CKPT_ASSIGN(const Tensor* map, job.need(weight.name + ".quant_map", weight));
  const bool is_nf4 = state_tensor.name.ends_with("nf4");
  PackedWeight out;
  out.parts = {&weight, &state_tensor, map};
  out.label = fmt::format("{} (blocks of {})", is_nf4 ? "NF4" : "FP4", state.block);
  const bool is_stored = weight.is_stored() && weight.stored().parts.size() == 1 &&
                         weight.stored().parts[0].size() == 1;
  const uint64_t code_bytes = divide_up(state.values, 2);
  if (!is_stored || size_bytes(weight) != code_bytes) {
    return wrong_part(weight, fmt::format("{} bytes: [{}], two values a byte", code_bytes,
                                          fmt::join(state.shape, ", ")));
  }
  BlockedCodes from{only_slice(weight), {}, {}};
  CKPT_ASSIGN(from.table, read_map(*map, 16));
  CKPT_ASSIGN(from.largest, largest_of_blocks(job, weight, state, out));
  // The last block may be shorter.
  const uint64_t blocks = state.values / state.block, rest = state.values % state.block;
  const auto join = [&](uint64_t first, uint64_t rows, uint64_t columns) {
    return coded_tensor(job, weight, weight.name,
                        matrix_of_blocks(from, first * state.block, first, rows, columns));
  };
  out.weight = blocks == 0 ? join(0, 1, rest) : join(0, blocks, state.block);
  if (blocks != 0 && rest != 0 && !job.codecs.empty()) {
    const Tensor last = join(blocks, 1, rest);
    auto& slices = std::get<Stored>(out.weight.origin).parts[0];
    slices.push_back(last.stored().parts[0][0]);
  }
  out.weight.shape = state.shape;
  return out;
}

bool is_eight_bits(const PackedJob& job, const Tensor& tensor) {
  return is_plain_grid(tensor, Dtype::kI8, 2) && tensor.name.ends_with(kWeight) &&
         job.find(module_of(tensor.name) + ".SCB") != nullptr;
}

Result<PackedWeight> join_eight_bits(const PackedJob& job, const Tensor& codes) {
  const Tensor& scale = *job.find(module_of(codes.name) + ".SCB");
  PackedWeight out{{}, {&codes, &scale}, "INT8 (channel)"};
  if (const Tensor* order = job.find(codes.name + "_format")) {
    out.parts.push_back(order);
    CKPT_ASSIGN(const std::string bytes, read_bytes(*order, 8));
    if (bytes.find_first_not_of('\0') != bytes.npos) {
      return wrong_part(*order, "0, codes row after row; other orders are those of one GPU");
    }
  }
  if (scale.values() != codes.shape[0]) {
    return wrong_part(scale, fmt::format("{} numbers, one for each row", codes.shape[0]));
  }
  CKPT_ASSIGN(CodedMatrix matrix, scaled_codes(codes, scale, {codes.shape[0], codes.shape[1]}));
  matrix.factor = kOneOf127;
  out.weight = coded_tensor(job, codes, codes.name, std::move(matrix));
  return out;
}

}  // namespace

extern constinit const PackedKind kFourBitsKind{"bitsandbytes", is_four_bits, join_four_bits};
extern constinit const PackedKind kEightBitsKind{"bitsandbytes", is_eight_bits, join_eight_bits};

}  // namespace ckpt
