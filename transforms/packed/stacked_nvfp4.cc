// NVFP4 experts that ModelOpt stores as stacks, with rows and columns exchanged.
//
//   P U8 [E, K / 2, N], P_weight_scale F8_E4M3 [E, K / 16, N], P_weight_scale_2  ──▶  P [E, K, N]
//
// Byte (i, n) holds the codes of inputs 2i (low bits) and 2i + 1 of output n; all experts share the
// tensor scale. value = code x (scale x scale_2), each product rounded once, as for NVFP4 matrices.
// Floats do not need P_input_scale.
// Source: NVIDIA Model-Optimizer modelopt/torch/export/unified_export_hf.py
// (_export_quantized_weight, is_bmm_expert_weight).
#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

constexpr std::string_view kStackScale = "_weight_scale";
constexpr uint64_t kStackGroup = 16;

bool is_stacked_codes(const PackedJob& job, const Tensor& tensor) {
  return is_plain_grid(tensor, Dtype::kU8, 3) &&
         job.find(tensor.name + std::string(kStackScale)) != nullptr &&
         is_of_experts(tensor.name);
}

// The tensor scale of all experts; 1 if values are not read.
Result<float> stack_scale(const PackedJob& job, const Tensor& scale) {
  if (!is_plain_grid(scale, Dtype::kF32, scale.shape.size()) || scale.values() != 1) {
    return wrong_part(scale, "one number, f32");
  }
  if (!job.reads_values) return 1.0f;
  CKPT_ASSIGN(const std::vector<float> values, read_values(scale, 1));
  return values[0];
}

Result<PackedWeight> join_stacked_nvfp4(const PackedJob& job, const Tensor& codes) {
  CKPT_ASSIGN(const Tensor* scale, job.need(codes.name + std::string(kStackScale), codes));
  CKPT_ASSIGN(const Tensor* scale_2, job.need(codes.name + "_weight_scale_2", codes));
  const uint64_t experts = codes.shape[0], inputs = codes.shape[1] * 2, outputs = codes.shape[2];
  if (inputs % kStackGroup != 0) {
    return wrong_part(codes, "a multiple of 8 in the second axis: 16 inputs a scale, two a byte");
  }
  const std::vector<uint64_t> expected = {experts, inputs / kStackGroup, outputs};
  if (!is_plain_grid(*scale, Dtype::kF8E4M3, 3) || scale->shape != expected) {
    return wrong_part(*scale, fmt::format("f8_e4m3 [{}], one for each {} inputs",
                                          fmt::join(expected, ", "), kStackGroup));
  }
  // Groups end where experts end, so that all experts form one matrix.
  CodedMatrix matrix{.rows = experts * inputs, .columns = outputs, .table = e2m1_values()};
  matrix.codes = {.bytes = only_slice(codes),
                  .outer = matrix.rows,
                  .inner = outputs,
                  .bits = 4,
                  .word_bytes = 1,
                  .is_across = true};
  matrix.scales = {.bytes = only_slice(*scale),
                   .dtype = Dtype::kF8E4M3,
                   .rows = matrix.rows / kStackGroup,
                   .columns = outputs,
                   .tile_rows = kStackGroup};
  CKPT_ASSIGN(matrix.scales.factor, stack_scale(job, *scale_2));
  const Tensor* side = job.find(codes.name + "_input_scale");
  PackedWeight out{{},
                   {&codes, scale, scale_2},
                   side != nullptr ? "NVFP4 (group 16)" : "W4A16_NVFP4 (group 16)"};
  if (side != nullptr) out.parts.push_back(side);
  out.weight = coded_tensor(job, codes, codes.name, std::move(matrix));
  out.weight.shape = {experts, inputs, outputs};
  return out;
}

}  // namespace

extern constinit const PackedKind kStackedNvfp4Kind{"modelopt", is_stacked_codes,
                                                    join_stacked_nvfp4};

}  // namespace ckpt
