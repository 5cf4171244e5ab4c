// MXFP4 with parts whose names no codec covers: 4-bit codes, 32 values per power of two.
//
//   mxfp4 (stacks)     P_blocks U8 [E, N, K / 32, 16], P_scales U8 [E, N, K / 32]  ──▶  P [E, K, N]
//   fp8 (DeepSeek-V4)  P.weight I8 [N, K / 2], P.scale F8_E8M0 [N, K / 32]  ──▶  P.weight [N, K]
//
// Two codes per byte, low bits first; exponents are biased by 127. The floats of a stack have the
// order of its BF16 checkpoints: exchanged rows and columns, and gate and up alternating as before.
// Sources: transformers src/transformers/integrations/mxfp4.py (convert_moe_packed_tensors); NVIDIA
// Model-Optimizer examples/deepseek/deepseek_v4; llama.cpp conversion/deepseek.py.
#include <algorithm>

#include "core/computed/transposed_source.h"
#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

constexpr std::string_view kBlockEnd = "_blocks";
constexpr uint64_t kMxfp4Group = 32;
constexpr uint64_t kBlockBytes = kMxfp4Group / 2;
constexpr std::string_view kMxfp4Label = "MXFP4 (group 32)";

// Joins codes and exponents in one tensor; the type in the file does not affect the bytes.
Tensor mxfp4_tensor(const PackedJob& job, const Tensor& codes, const Tensor& scales) {
  Tensor out = codes;
  out.codec = &scheme_codec(job.codecs, Scheme::kMxfp4, Dialect::kCompressedTensors);
  out.origin = Stored{{{only_slice(codes)}, {only_slice(scales)}}};
  return out;
}

bool is_expert_blocks(const PackedJob&, const Tensor& tensor) {
  return tensor.name.ends_with(kBlockEnd) && is_plain_grid(tensor, Dtype::kU8, 4);
}

Result<PackedWeight> join_expert_blocks(const PackedJob& job, const Tensor& blocks) {
  const std::string stem = blocks.name.substr(0, blocks.name.size() - kBlockEnd.size());
  CKPT_ASSIGN(const Tensor* scales, job.need(stem + "_scales", blocks));
  const std::vector<uint64_t>& shape = blocks.shape;
  if (shape[3] != kBlockBytes) {
    return wrong_part(blocks, "16 bytes in the last axis: 32 codes of 4 bits");
  }
  const bool fits = is_plain_grid(*scales, Dtype::kU8, 3) &&
                    std::equal(scales->shape.begin(), scales->shape.end(), shape.begin());
  if (!fits) {
    return wrong_part(*scales, fmt::format("u8 [{}, {}, {}], one for each 32 values of '{}'",
                                           shape[0], shape[1], shape[2], blocks.name));
  }
  PackedWeight out{blocks, {&blocks, scales}, std::string(kMxfp4Label)};
  Tensor& weight = out.weight;
  weight.name = stem;
  weight.shape = {shape[0], shape[2] * kMxfp4Group, shape[1]};
  if (job.codecs.empty()) return out;  // the caller needs no values
  Tensor stored = mxfp4_tensor(job, blocks, *scales);
  stored.name = stem;
  stored.shape = {shape[0], shape[1], shape[2] * kMxfp4Group};
  const auto source = std::make_shared<const TransposedSource>(std::move(stored));
  weight.codec = &plain_codec(job.codecs, Dtype::kF32);
  weight.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  return out;
}

std::string pair_scale_name(const Tensor& codes) { return module_of(codes.name) + ".scale"; }

bool is_packed_pairs(const PackedJob& job, const Tensor& tensor) {
  if (!tensor.name.ends_with(kWeight)) return false;
  return is_plain_grid(tensor, Dtype::kI8, 2) ||
         (is_plain_grid(tensor, Dtype::kU8, 2) && job.find(pair_scale_name(tensor)) != nullptr);
}

Result<PackedWeight> join_packed_pairs(const PackedJob& job, const Tensor& codes) {
  CKPT_ASSIGN(const Tensor* scales, job.need(pair_scale_name(codes), codes));
  const uint64_t rows = codes.shape[0];
  const uint64_t row_bytes = codes.shape[1];
  if (row_bytes % kBlockBytes != 0) {
    return wrong_part(codes, "a multiple of 16 bytes in a row: 32 codes of 4 bits");
  }
  const uint64_t groups = row_bytes / kBlockBytes;
  const bool is_sound =
      is_plain_grid(*scales, Dtype::kF8E8M0, 2) || is_plain_grid(*scales, Dtype::kU8, 2);
  if (!is_sound || scales->shape != std::vector<uint64_t>{rows, groups}) {
    return wrong_part(*scales,
                      fmt::format("f8_e8m0 [{}, {}], one for each 32 values", rows, groups));
  }
  PackedWeight out{codes, {&codes, scales}, std::string(kMxfp4Label)};
  if (!job.codecs.empty()) out.weight = mxfp4_tensor(job, codes, *scales);  // null: no values
  out.weight.shape = {rows, row_bytes * 2};
  return out;
}

}  // namespace

extern constinit const PackedKind kExpertBlocksKind{"mxfp4", is_expert_blocks, join_expert_blocks};
extern constinit const PackedKind kPackedPairsKind{"fp8", is_packed_pairs, join_packed_pairs};

}  // namespace ckpt
