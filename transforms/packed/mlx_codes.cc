// Weights that MLX quantized:
//
//   P.weight U32 [.., N, K bits / 32]    numbers of 2 to 8 bits, the first in the lowest bits;
//                                        numbers of 3, 5 and 6 bits may cross words
//   P.scales, P.biases [.., N, K / G]    affine: value = code x scale + bias, both results rounded
//                                        to the type of the scales, as mx.dequantize does
//   P.scales U8 [.., N, K / G]           mxfp4, mxfp8, nvfp4: value = code x scale
//
// config.json: "quantization": {"group_size": G, "bits": B, "P": {another G and B for P}}. nvfp4
// with P.global_scale is not supported.
// Source: values of mx.dequantize (MLX 0.32) for each mode, type, group and number of bits.
#include <algorithm>

#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/packed/job.h"
#include "transforms/packed/mlx.h"

namespace ckpt {
namespace {

constexpr std::string_view kStatement = "quantization";

// A mode without biases. Each has one group and one number of bits.
struct MlxMode {
  std::string_view name;
  uint64_t group, bits;
  Dtype scale;
};
constexpr MlxMode kMlxModes[] = {{"mxfp4", 32, 4, Dtype::kF8E8M0},
                                 {"mxfp8", 32, 8, Dtype::kF8E8M0},
                                 {"nvfp4", 16, 4, Dtype::kF8E4M3}};

uint64_t group_of(const JsonText* declared, const std::string& module) {
  if (declared == nullptr) return 0;
  const JsonText* own = declared->find(module);
  const bool has_own = own != nullptr && own->find_whole("group_size").has_value();
  return (has_own ? own : declared)->find_whole("group_size").value_or(0);
}

// The scales or biases of all matrices in a stack, one row of groups after the other.
Result<ScaleGrid> groups_grid(Tensor part, const ScaledShape& shape) {
  if (part.shape.empty() || part.row_values() * shape.group != shape.columns) {
    return wrong_part(part,
                      fmt::format("one for each {} of {} values", shape.group, shape.columns));
  }
  part.shape = {part.values() / part.row_values(), part.row_values()};
  CKPT_ASSIGN(ScaleGrid out, scales_of(part, shape));
  // scales_of() takes a single scale for the tensor's; here it is a group's.
  out.tile_rows = 1;
  out.tile_columns = shape.group;
  return out;
}

// Adds scales and codes of a mode without biases.
Status take_mode(const MlxMode& mode, const Tensor& scales, CodedMatrix& matrix) {
  const uint64_t groups = matrix.columns / mode.group;
  if (scales.row_values() != groups || scales.values() != matrix.rows * groups) {
    return wrong_part(scales, fmt::format("one for each {} of {} values in {} rows", mode.group,
                                          matrix.columns, matrix.rows));
  }
  matrix.table = mode.bits == 4 ? e2m1_values() : fp8_values(Dtype::kF8E4M3);
  matrix.scales = {.bytes = only_slice(scales),
                   .dtype = mode.scale,
                   .rows = matrix.rows,
                   .columns = groups,
                   .tile_columns = mode.group};
  return {};
}

Status take_biases(const Tensor& scales, const Tensor& biases, const ScaledShape& shape,
                   CodedMatrix& matrix) {
  CKPT_SET(matrix.scales, groups_grid(scales, shape));
  CKPT_SET(matrix.biases, groups_grid(biases, shape));
  if (matrix.biases.dtype == matrix.scales.dtype) return {};
  return wrong_part(biases, fmt::format("{}, as '{}' is", scales.codec->name, scales.name));
}

Result<PackedWeight> join_mlx(const PackedJob& job, const JsonText* declared, const Tensor& codes) {
  const std::string module = module_of(codes.name);
  const Tensor* scales = job.find(module + ".scales");
  const Tensor* biases = job.find(module + ".biases");
  ScaledShape shape{codes.rows(), 0, group_of(declared, module), {}};
  shape.columns = scales->row_values() * shape.group;
  const uint64_t word_bits = codes.row_values() * 32;
  const uint64_t bits = shape.columns == 0 ? 0 : word_bits / shape.columns;
  if (bits < 2 || bits > 8 || bits * shape.columns != word_bits || shape.columns % 32 != 0) {
    return wrong_part(codes, fmt::format("whole words of 2 to 8 bits for {} groups of {}",
                                         scales->row_values(), shape.group));
  }
  CodedMatrix matrix{.rows = shape.rows, .columns = shape.columns};
  matrix.codes = {.bytes = only_slice(codes),
                  .outer = shape.rows,
                  .inner = shape.columns,
                  .bits = static_cast<uint32_t>(bits)};
  std::string label = fmt::format("MLX {} bits (group {})", bits, shape.group);
  std::vector<const Tensor*> parts = {&codes, scales};
  if (biases != nullptr) {
    parts.push_back(biases);
    CKPT_TRY(take_biases(*scales, *biases, shape, matrix));
  } else {
    const auto mode = std::ranges::find_if(kMlxModes, [&](const MlxMode& each) {
      return each.group == shape.group && each.bits == bits;
    });
    const bool has_global = job.find(module + ".global_scale") != nullptr;
    if (mode == std::end(kMlxModes) || has_global ||
        !is_plain_grid(*scales, Dtype::kU8, scales->shape.size())) {
      return unsupported_hint(std::string(kMlxDequantize),
                              "tensor '{}' has no biases{}, so MLX quantized it in a mode that is "
                              "not decoded here",
                              codes.name, has_global ? " but a global scale" : "");
    }
    CKPT_TRY(take_mode(*mode, *scales, matrix));
    label = fmt::format("MLX {}", mode->name);
  }
  PackedWeight out{{}, std::move(parts), std::move(label)};
  std::vector<uint64_t> grid = codes.shape;
  grid.back() = shape.columns;
  out.weight = coded_tensor(job, codes, codes.name, std::move(matrix));
  out.weight.shape = std::move(grid);
  return out;
}

}  // namespace

Result<std::vector<PackedWeight>> mlx_weights(const PackedJob& job, const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto config, read_config(checkpoint));
  const JsonText* declared = config ? config->find(kStatement) : nullptr;
  if (declared == nullptr && config) declared = config->find(kStatementKeys[0]);
  std::vector<PackedWeight> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_plain_grid(tensor, Dtype::kU32, tensor.shape.size()) || tensor.shape.size() < 2 ||
        job.find(module_of(tensor.name) + ".scales") == nullptr) {
      continue;
    }
    CKPT_ASSIGN(out.emplace_back(), join_mlx(job, declared, tensor));
  }
  return out;
}

Result<Checkpoint> decode_mlx(Checkpoint checkpoint, Codecs codecs) {
  std::unordered_map<std::string_view, const PackedWeight*> by_part;
  const PackedJob job(checkpoint, {}, codecs, true);
  CKPT_ASSIGN(const std::vector<PackedWeight> weights, mlx_weights(job, checkpoint));
  for (const PackedWeight& weight : weights) {
    for (const Tensor* part : weight.parts) by_part.emplace(part->name, &weight);
  }
  std::vector<Tensor> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto found = by_part.find(tensor.name);
    if (found == by_part.end()) {
      out.push_back(tensor);
    } else if (found->second->parts[0] == &tensor) {
      out.push_back(found->second->weight);
    }
  }
  checkpoint.tensors = std::move(out);
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (config && config->remove(kStatement)) {
    checkpoint.set_document("config.json", config->dump(2) + "\n");
  }
  return checkpoint;
}

}  // namespace ckpt
