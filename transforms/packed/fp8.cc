// FP8 with scales that no codec covers, and BitNet's three values in two bits.
//
//   fp8      P.weight F8_E4M3 [N, K], P.weight_scale_inv, P.qscale_weight (Mistral) or P.scale
//            (DeepSeek-V4: F8_E8M0), one number or one per block of weight_block_size
//                                                                   value = code x scale
//            stacks of experts: P F8_E4M3 [E, N, K], P_scale_inv [E, N / a, K / b]
//   bitnet   P.weight U8 [N / 4, K], P.weight_scale, one number     value = (code - 1) / scale
//            row i N / 4 + r of the weight is bits 2i and 2i + 1 of row r
//
// Checkpoints also contain scales of activations, which floats do not need.
// Source: llama.cpp conversion/base.py (dequant_simple, dequant_bitnet), conversion/deepseek.py.
#include <algorithm>

#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

const Tensor* fp8_scale(const PackedJob& job, const Tensor& codes) {
  const Tensor* inverse = job.find(codes.name + "_scale_inv");
  const Tensor* own = job.find(codes.name + "_scale");
  if (inverse != nullptr || own != nullptr) return inverse != nullptr ? inverse : own;
  const Tensor* mistral = job.find(module_of(codes.name) + ".qscale_weight");
  return mistral != nullptr ? mistral : job.find(module_of(codes.name) + ".scale");
}

constexpr std::string_view kBlockKey = "weight_block_size";

// Rows and columns that share a scale; empty if the documents do not declare a block.
Result<std::vector<uint64_t>> declared_block(const PackedJob& job) {
  const JsonText* block = job.statement.declared.find(kBlockKey);
  const std::vector<uint64_t> out = wholes_in(block);
  if (block == nullptr || block->is_null()) return out;
  if (out.size() == 2 && out[0] != 0 && out[1] != 0) return out;
  return corrupt(
      "{}: {} is {}; expected two whole numbers above zero: rows and columns that share a scale",
      job.statement.place, kBlockKey, block->dump(0));
}

// Whether it is a stack of one layer's experts, as in Qwen3-VL-MoE.
bool is_fp8_stack(const PackedJob& job, const Tensor& tensor) {
  return is_plain_grid(tensor, Dtype::kF8E4M3, 3) &&
         job.find(tensor.name + "_scale_inv") != nullptr;
}

bool is_scaled_fp8(const PackedJob& job, const Tensor& tensor) {
  if (is_fp8_stack(job, tensor)) return true;
  return is_fp8_grid(tensor) && tensor.name.ends_with(kWeight) && fp8_scale(job, tensor) != nullptr;
}

// Reshapes the scales of a stack to those of one matrix with consecutive experts.
Result<Tensor> stack_scales(const Tensor& scale, const Tensor& codes,
                            const std::vector<uint64_t>& block) {
  const std::vector<uint64_t>& shape = scale.shape;
  const bool is_whole = block.size() == 2 && codes.shape[1] % block[0] == 0;
  if (!is_whole || shape.size() != 3 || shape[0] != codes.shape[0]) {
    return wrong_part(scale, "blocks of whole rows for each expert");
  }
  Tensor out = scale;
  out.shape = {shape[0] * shape[1], shape[2]};
  return out;
}

Result<PackedWeight> join_fp8(const PackedJob& job, const Tensor& codes) {
  const Tensor& scale = *fp8_scale(job, codes);
  CKPT_ASSIGN(std::vector<uint64_t> block, declared_block(job));
  Tensor flat = scale;
  if (codes.shape.size() == 3) CKPT_SET(flat, stack_scales(scale, codes, block));
  const ScaledShape shape{codes.rows(), codes.row_values(), 0, std::move(block)};
  CKPT_ASSIGN(CodedMatrix matrix, scaled_codes(codes, flat, shape));
  // A single number may also be the scale of a single block.
  const std::string of = shape.block.empty()
                             ? describe(matrix.scales)
                             : fmt::format("blocks of {} x {}", shape.block[0], shape.block[1]);
  PackedWeight out{{}, {&codes, &scale}, fmt::format("FP8 ({})", of)};
  for (const char* end : {".activation_scale", ".qscale_act", ".input_scale"}) {
    if (const Tensor* side = job.find(module_of(codes.name) + end)) out.parts.push_back(side);
  }
  out.weight = coded_tensor(job, codes, codes.name, std::move(matrix));
  out.weight.shape = codes.shape;
  return out;
}

bool is_bitnet_codes(const PackedJob& job, const Tensor& tensor) {
  return is_plain_grid(tensor, Dtype::kU8, 2) && tensor.name.ends_with(kWeight) &&
         job.find(tensor.name + "_scale") != nullptr;
}

// The values of a byte for the rows of one quarter.
std::shared_ptr<const std::vector<float>> quarter_values(uint32_t quarter) {
  std::vector<float> out(256);
  for (uint32_t code = 0; code < out.size(); ++code) {
    out[code] = static_cast<float>(code >> (2 * quarter) & 3) - 1;
  }
  return std::make_shared<const std::vector<float>>(std::move(out));
}

Result<PackedWeight> join_bitnet(const PackedJob& job, const Tensor& codes) {
  const Tensor& scale = *job.find(codes.name + "_scale");
  CKPT_ASSIGN(CodedMatrix matrix, scaled_codes(codes, scale, {codes.shape[0], codes.shape[1]}));
  if (matrix.scales.rows * matrix.scales.columns != 1) return wrong_part(scale, "one number");
  matrix.divides = true;
  PackedWeight out{{}, {&codes, &scale}, "BitNet 2 bits (tensor)"};
  Stored quarters;
  quarters.parts.emplace_back();
  for (uint32_t quarter = 0; quarter < 4; ++quarter) {
    matrix.table = quarter_values(quarter);
    out.weight = coded_tensor(job, codes, codes.name, matrix);
    if (job.codecs.empty()) break;
    quarters.parts[0].push_back(out.weight.stored().parts[0][0]);
  }
  out.weight.shape[0] *= 4;
  if (!job.codecs.empty()) out.weight.origin = std::move(quarters);
  return out;
}

}  // namespace

Status check_declared_block(const PackedJob& job, const Tensor& tensor) {
  if (job.statement.method != "fp8" || !tensor.has_scales() || !is_fp8(tensor.codec->scheme)) {
    return {};
  }
  CKPT_ASSIGN(const std::vector<uint64_t> block, declared_block(job));
  const PartRule& scales = tensor.codec->parts[1];
  const uint64_t tile_rows = scales.tile_rows == 0 ? tensor.rows() : scales.tile_rows;
  const uint64_t tile_columns = scales.tile_values == 0 ? tensor.row_values() : scales.tile_values;
  if (block.empty() || (tile_rows == block[0] && tile_columns == block[1])) return {};
  const bool is_one = tensor.rows() <= std::min(tile_rows, block[0]) &&
                      tensor.row_values() <= std::min(tile_columns, block[1]);
  if (is_one) return {};
  return corrupt(
      "tensor '{}' has a scale for each {} x {} values; expected {} x {}, which is the {} of {}",
      tensor.name, tile_rows, tile_columns, block[0], block[1], kBlockKey, job.statement.place);
}

extern constinit const PackedKind kScaledFp8Kind{"fp8", is_scaled_fp8, join_fp8};
extern constinit const PackedKind kBitnetKind{"bitnet", is_bitnet_codes, join_bitnet};

}  // namespace ckpt
