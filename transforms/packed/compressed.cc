// compressed-tensors: integers packed into words, and 8-bit codes, with scales.
//
//                      pack-quantized                          int-, float-, naive-quantized
//   codes              P.weight_packed I32 [N, K bits / 32]    P.weight I8, F8_E4M3, F8_E5M2 [N, K]
//   P.weight_scale     [N, K / group], [N, 1], [1]             also blocks [N / a, K / b]
//   P.weight_zero_point  I32 [N bits / 32, K / group]          I8, one per scale
//                        I8 [1], for the tensor
//   P.weight_shape     N, K
//   P.weight_g_idx     I32 [K]: the group of each input        the same
//   value              (q - z) x scale
//
// Packed numbers form a stream of bits along a row, zero points down a column; each is stored plus
// 2^(bits - 1). Before version 0.18 numbers do not cross words: a word has ten numbers of 3 bits,
// six of 5, five of 6, four of 7. Each group of config.json may have another layout: the tensors of
// a weight determine it, and a group must agree. Sources: compressed-tensors 0.19
// compressors/pack_quantized, compressors/naive_quantized; llama.cpp conversion/base.py
// (dequant_packed, dequant_simple).
#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

constexpr std::string_view kPackedWord = "_packed";
constexpr uint64_t kMaxIndexedInputs = uint64_t{1} << 24;

// The weights that one group of config.json declares.
struct StatedWeights {
  std::string type = "int";
  uint64_t bits = 0;
  uint64_t group = 0;  // 0: none
  std::vector<uint64_t> block = {};
  bool has_zeros = false;   // "symmetric": false
  bool is_ordered = false;  // g_idx gives the group of each input
};

std::vector<StatedWeights> stated_weights(const PackedJob& job) {
  std::vector<StatedWeights> out;
  const JsonText* groups = job.statement.declared.find("config_groups");
  if (groups == nullptr || !groups->is_object()) return out;
  for (const auto& [name, each] : groups->members()) {
    const JsonText* weights = each.find("weights");
    if (weights == nullptr || !weights->is_object()) continue;
    StatedWeights& one = out.emplace_back();
    one.type = weights->find_text("type").value_or("int");
    const JsonText* bits = weights->find("num_bits");
    const bool has_bits = bits != nullptr && !bits->is_null();
    one.bits = has_bits ? bits->as_whole().value_or(0) : 8;  // 0 matches no weight
    one.group = weights->find_whole("group_size").value_or(0);
    one.block = wholes_in(weights->find("block_structure"));
    const JsonText* symmetric = weights->find("symmetric");
    one.has_zeros = symmetric != nullptr && symmetric->as_boolean() == false;
    if (const JsonText* order = weights->find("actorder")) {
      const std::string word = lower_case(order->as_text().value_or(""));
      one.is_ordered = order->as_boolean() == true || word == "group" || word == "dynamic";
    }
  }
  return out;
}

Failure not_stated(const PackedJob& job, const Tensor& tensor, std::string_view found) {
  return corrupt("tensor '{}' holds {}; no group of {}'s quantization_config has such weights",
                 tensor.name, found, job.statement.place);
}

// Finds a group that declares weights like `wanted` with scales shaped like `scale`; `shape` gets
// its tiles. If several match, only the parts that all of them declare are required.
Result<StatedWeights> stated_for(const PackedJob& job, const Tensor& codes, const Tensor& scale,
                                 const StatedWeights& wanted, ScaledShape& shape) {
  std::vector<StatedWeights> stated = stated_weights(job);
  if (stated.empty()) return StatedWeights();
  const auto is_wanted = [&](const StatedWeights& each) {
    return each.type == wanted.type && each.bits == wanted.bits;
  };
  // Integers of fewer bits may also be stored one per byte.
  const bool in_bytes =
      wanted.type == "int" && wanted.bits == 8 && std::ranges::none_of(stated, is_wanted);
  std::erase_if(stated, [&](const StatedWeights& each) {
    const bool is_smaller = in_bytes && each.type == "int" && each.bits >= 1 && each.bits < 8;
    return !is_wanted(each) && !is_smaller;
  });
  if (stated.empty()) {
    return not_stated(job, codes, fmt::format("{} of {} bits", wanted.type, wanted.bits));
  }
  const auto detail = [](const StatedWeights& each) {
    return !each.block.empty() ? 2 : each.group != 0 ? 1 : 0;
  };
  std::ranges::stable_sort(stated,
                           [&](const auto& a, const auto& b) { return detail(a) > detail(b); });
  std::optional<StatedWeights> out;
  std::optional<Error> wrong;
  ScaleGrid tiles;
  for (const StatedWeights& each : stated) {
    shape.group = each.group;
    shape.block = each.block;
    auto grid = scales_of(scale, shape);
    if (!grid) {
      if (!wrong) wrong = std::move(grid.error());
      continue;
    }
    if (!out) {
      out = each;
      tiles = *std::move(grid);
    } else if (tiles.tile_rows == grid->tile_rows && tiles.tile_columns == grid->tile_columns) {
      out->has_zeros = out->has_zeros && each.has_zeros;
      out->is_ordered = out->is_ordered && each.is_ordered;
    } else if (detail(*out) == detail(each)) {
      return wrong_part(scale, fmt::format("a shape of one group of quantization_config: tiles of "
                                           "{} x {} and of {} x {} take as many",
                                           tiles.tile_rows, tiles.tile_columns, grid->tile_rows,
                                           grid->tile_columns));
    }
  }
  if (!out) return Failure(*std::move(wrong));
  shape.group = out->group;
  shape.block = out->block;
  return *out;
}

// Fails: kCorrupt: a declared part is missing.
Status check_parts(const PackedJob& job, const StatedWeights& stated, const Tensor& codes,
                   const std::string& weight, const ScaleGrid& scales) {
  if (stated.has_zeros) CKPT_TRY(job.need(weight + "_zero_point", codes));
  if (stated.is_ordered && scales.columns > 1) CKPT_TRY(job.need(weight + "_g_idx", codes));
  return {};
}

Status read_input_order(const Tensor& g_idx, CodedMatrix& matrix) {
  if (g_idx.shape != std::vector<uint64_t>{matrix.columns}) {
    return wrong_part(g_idx, fmt::format("i32 [{}], one for each input", matrix.columns));
  }
  CKPT_ASSIGN(const auto read, read_integers(g_idx, kMaxIndexedInputs));
  if (!read) return wrong_part(g_idx, "i32");
  // -1: the inputs have their normal order.
  if (std::ranges::count(*read, -1) != 0) return {};
  CKPT_ASSIGN(std::vector<uint32_t> groups, groups_of_inputs(g_idx, *read, matrix.scales.columns));
  matrix.groups = std::make_shared<const std::vector<uint32_t>>(std::move(groups));
  return {};
}

// Reads the order of inputs, and lists the parts of `weight` that floats do not need.
Status add_other_parts(const PackedJob& job, const std::string& weight, CodedMatrix& matrix,
                       PackedWeight& out) {
  if (const Tensor* g_idx = job.find(weight + "_g_idx")) {
    out.parts.push_back(g_idx);
    if (job.reads_values) CKPT_TRY(read_input_order(*g_idx, matrix));
  }
  for (const char* end : {".input_scale", ".input_zero_point", ".output_scale",
                          ".output_zero_point", ".input_global_scale"}) {
    if (const Tensor* side = job.find(module_of(weight) + end)) out.parts.push_back(side);
  }
  return {};
}

bool is_packed_words(const PackedJob&, const Tensor& tensor) {
  return tensor.name.ends_with(".weight_packed") && is_plain_grid(tensor, Dtype::kI32, 2);
}

struct PackedShape {
  uint64_t rows, columns, bits;
  bool keeps_to_words = false;
};

CodeGrid packed_line(const PackedShape& shape) {
  return {.bytes = {},
          .outer = shape.rows,
          .inner = shape.columns,
          .bits = static_cast<uint32_t>(shape.bits),
          .keeps_to_words = shape.keeps_to_words};
}

const char* packing_words(const PackedShape& shape) {
  return shape.keeps_to_words ? " that keep to words" : "";
}

// Whether numbers do not cross words, according to the version; nullopt if that is unknown.
std::optional<bool> declares_packing(const PackedJob& job) {
  const std::string version = job.statement.declared.find_text("version").value_or("");
  unsigned major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%u.%u", &major, &minor) != 2) return std::nullopt;
  return major == 0 && minor < 18;
}

// Finds the width and the packing that give the number of words. Both packings are the same if
// numbers fill words exactly or fit one word.
Status find_packing(const PackedJob& job, const Tensor& packed, const std::vector<uint64_t>& widths,
                    PackedShape& shape) {
  const auto declared = stated_weights(job).empty() ? false : declares_packing(job);
  std::vector<PackedShape> found;
  for (const bool keeps_to_words : {declared.value_or(false), !declared.value_or(false)}) {
    if (declared && keeps_to_words != *declared && !found.empty()) break;
    for (const uint64_t bits : widths) {
      const PackedShape one{shape.rows, shape.columns, bits, keeps_to_words};
      const bool is_same = 32 % bits == 0 || shape.columns <= 32 / bits;
      const bool is_known = std::ranges::any_of(
          found, [&](const PackedShape& each) { return each.bits == bits && is_same; });
      const bool fits = packed_line(one).words_of(shape.columns) == packed.shape[1];
      if (fits && !is_known) found.push_back(one);
    }
  }
  if (found.size() == 1) {
    shape = found[0];
    return {};
  }
  if (found.empty()) {
    return wrong_part(
        packed, fmt::format("{} columns: {} numbers of {} bits",
                            divide_up(shape.columns * widths[0], 32), shape.columns, widths[0]));
  }
  return wrong_part(
      packed, fmt::format("a width that tells how its {} numbers are packed: of {} bits{} "
                          "and of {} bits{} they take as many words{}",
                          shape.columns, found[0].bits, packing_words(found[0]), found[1].bits,
                          packing_words(found[1]),
                          declared ? "" : ", and the version of compressed-tensors is not said"));
}

// Takes rows and columns from `shape`, and bits from the number of words.
Result<PackedShape> packed_shape(const PackedJob& job, const Tensor& packed, const Tensor& shape) {
  std::vector<uint64_t> widths;
  const std::vector<StatedWeights> stated = stated_weights(job);
  for (const StatedWeights& each : stated) {
    if (each.type == "int" && each.bits >= 1 && each.bits <= 8) widths.push_back(each.bits);
  }
  if (stated.empty()) widths = {4, 8, 2, 3, 5, 6, 7};
  if (widths.empty()) return not_stated(job, packed, "whole numbers");
  const uint64_t words = packed.shape[1];
  PackedShape out{packed.shape[0], words * 32 / widths[0], widths[0]};
  CKPT_ASSIGN(const auto numbers, read_integers(shape, 2));
  const bool is_known = numbers && numbers->size() == 2 && (*numbers)[1] > 0 &&
                        (*numbers)[0] == static_cast<int64_t>(out.rows) &&
                        static_cast<uint64_t>((*numbers)[1]) <= words * 32;
  if (!is_known) {
    return corrupt("tensor '{}' says [{}]; '{}' has {} rows of {} words", shape.name,
                   numbers ? fmt::format("{}", fmt::join(*numbers, ", ")) : "?", packed.name,
                   out.rows, words);
  }
  out.columns = static_cast<uint64_t>((*numbers)[1]);
  CKPT_TRY(find_packing(job, packed, widths, out));
  return out;
}

// Symmetric 4-bit integers have a codec, so their bits can move into GGUF's Q4_0.
Tensor joined_words(const PackedJob& job, const Tensor& packed, std::string name,
                    CodedMatrix matrix) {
  const uint64_t group = matrix.scales.tile_columns;
  const bool is_plain = matrix.codes.bits == 4 && !matrix.has_zeros() && !matrix.groups &&
                        matrix.scales.dtype == Dtype::kBF16 && matrix.scales.tile_rows == 1 &&
                        matrix.columns % group == 0;
  const Codec* codec = is_plain ? find_codec(job.codecs, fmt::format("int4_g{}", group)) : nullptr;
  if (codec == nullptr) return coded_tensor(job, packed, std::move(name), std::move(matrix));
  Tensor out = packed;
  out.name = std::move(name);
  out.codec = codec;
  out.shape = {matrix.rows, matrix.columns};
  out.origin = Stored{{{matrix.codes.bytes}, {matrix.scales.bytes}}};
  return out;
}

Status add_packed_zeros(const Tensor* zeros, const Tensor& scale, CodedMatrix& matrix) {
  const ScaleGrid& scales = matrix.scales;
  if (zeros == nullptr || scales.tile_rows != 1) matrix.zero = 1 << (matrix.codes.bits - 1);
  if (zeros == nullptr) return {};
  // A zero point for the entire tensor is not packed.
  if (scales.tile_rows != 1) {
    return add_byte_zeros(*zeros, fmt::format(" of '{}'", scale.name), matrix);
  }
  CodeGrid grid =
      packed_line({scales.rows, scales.columns, matrix.codes.bits, matrix.codes.keeps_to_words});
  grid.is_across = true;
  const uint64_t words = grid.words_of(scales.rows);
  if (!is_plain_grid(*zeros, Dtype::kI32, 2) ||
      zeros->shape != std::vector<uint64_t>{words, scales.columns}) {
    return wrong_part(*zeros, fmt::format("i32 [{}, {}]: zero points of {} bits, packed down "
                                          "the columns",
                                          words, scales.columns, matrix.codes.bits));
  }
  grid.bytes = only_slice(*zeros);
  matrix.zeros = std::move(grid);
  return {};
}

Result<PackedWeight> join_words(const PackedJob& job, const Tensor& packed) {
  const std::string weight = packed.name.substr(0, packed.name.size() - kPackedWord.size());
  CKPT_ASSIGN(const Tensor* scale, job.need(weight + "_scale", packed));
  CKPT_ASSIGN(const Tensor* shape_tensor, job.need(weight + "_shape", packed));
  const Tensor* zeros = job.find(weight + "_zero_point");
  CKPT_ASSIGN(const PackedShape shape, packed_shape(job, packed, *shape_tensor));
  ScaledShape scaled{shape.rows, shape.columns};
  CKPT_ASSIGN(const StatedWeights declared,
              stated_for(job, packed, *scale, {.bits = shape.bits}, scaled));
  CodedMatrix matrix{.rows = shape.rows, .columns = shape.columns};
  CKPT_ASSIGN(matrix.scales, scales_of(*scale, scaled));
  CKPT_TRY(check_parts(job, declared, packed, weight, matrix.scales));
  matrix.codes = packed_line(shape);
  matrix.codes.bytes = only_slice(packed);
  CKPT_TRY(add_packed_zeros(zeros, *scale, matrix));
  PackedWeight out;
  out.label = fmt::format("INT{}{} ({})", shape.bits, zeros == nullptr ? "" : " with zero points",
                          describe(matrix.scales));
  out.parts = {&packed, scale, shape_tensor};
  if (zeros != nullptr) out.parts.push_back(zeros);
  CKPT_TRY(add_other_parts(job, weight, matrix, out));
  out.weight = joined_words(job, packed, weight, std::move(matrix));
  return out;
}

bool is_scaled_codes(const PackedJob& job, const Tensor& tensor) {
  const bool is_codes = is_plain_grid(tensor, Dtype::kI8, 2) || is_fp8_grid(tensor);
  return is_codes && tensor.name.ends_with(kWeight) && job.find(tensor.name + "_scale") != nullptr;
}

Result<PackedWeight> join_codes(const PackedJob& job, const Tensor& codes) {
  const std::string type = is_fp8_grid(codes) ? "float" : "int";
  const Tensor& scale = *job.find(codes.name + "_scale");
  ScaledShape shape{codes.shape[0], codes.shape[1]};
  CKPT_ASSIGN(const StatedWeights declared, stated_for(job, codes, scale, {type, 8}, shape));
  CKPT_ASSIGN(CodedMatrix matrix, scaled_codes(codes, scale, shape));
  CKPT_TRY(check_parts(job, declared, codes, codes.name, matrix.scales));
  PackedWeight out{{}, {&codes, &scale}, {}};
  const Tensor* zeros = job.find(codes.name + "_zero_point");
  if (zeros != nullptr) {
    out.parts.push_back(zeros);
    CKPT_TRY(add_byte_zeros(*zeros, fmt::format(" of '{}'", scale.name), matrix));
  }
  CKPT_TRY(add_other_parts(job, codes.name, matrix, out));
  const std::string kind =
      type == "int" ? fmt::format("INT{}", declared.bits == 0 ? 8 : declared.bits) : "FP8";
  out.label = fmt::format("{}{} ({})", kind, zeros == nullptr ? "" : " with zero points",
                          describe(matrix.scales));
  out.weight = coded_tensor(job, codes, codes.name, std::move(matrix));
  return out;
}

}  // namespace

extern constinit const PackedKind kPackedWordsKind{"compressed-tensors", is_packed_words,
                                                   join_words};
extern constinit const PackedKind kScaledCodesKind{"compressed-tensors", is_scaled_codes,
                                                   join_codes};

}  // namespace ckpt
