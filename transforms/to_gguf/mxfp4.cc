// Stacks of experts in MXFP4 keep their type; only their bits move.
//
//   X_blocks U8 [n, rows, K/32, 16]   two codes per byte, low bits first       X [n, rows, K]
//   X_scales U8 [n, rows, K/32]       powers of two, biased by 127
//
// Source: llama.cpp conversion/gpt_oss.py (repack_mxfp4). Rows are outputs, unlike in the BF16 form
// of these tensors.
#include "transforms/to_gguf/mxfp4.h"

#include <algorithm>
#include <unordered_map>

namespace ckpt {
namespace {

constexpr std::string_view kBlocksEnd = "_blocks";
constexpr std::string_view kScalesEnd = "_scales";

bool is_bytes(const Tensor& tensor) {
  return tensor.is_stored() && tensor.codec->parts.size() == 1 &&
         tensor.codec->parts[0].dtype == Dtype::kU8;
}

bool are_blocks_and_scales(const Tensor& blocks, const Tensor& scales) {
  return is_bytes(blocks) && is_bytes(scales) && blocks.shape.size() == 4 &&
         blocks.shape[3] == 16 && scales.shape.size() == 3 &&
         std::equal(scales.shape.begin(), scales.shape.end(), blocks.shape.begin());
}

}  // namespace

bool is_mxfp4(const Tensor& tensor) {
  return tensor.codec->scheme == Scheme::kMxfp4 &&
         tensor.codec->dialect == Dialect::kCompressedTensors;
}

std::vector<Tensor> join_mxfp4(std::vector<Tensor> tensors, Codecs codecs) {
  std::unordered_map<std::string_view, const Tensor*> scales;
  for (const Tensor& tensor : tensors) {
    if (tensor.name.ends_with(kScalesEnd)) scales.emplace(tensor.name, &tensor);
  }
  const Codec& codec = scheme_codec(codecs, Scheme::kMxfp4, Dialect::kCompressedTensors);
  std::vector<Tensor> out;
  std::vector<const Tensor*> used;
  for (const Tensor& tensor : tensors) {
    if (!tensor.name.ends_with(kBlocksEnd)) continue;
    const std::string stem = tensor.name.substr(0, tensor.name.size() - kBlocksEnd.size());
    const auto found = scales.find(stem + std::string(kScalesEnd));
    if (found == scales.end() || !are_blocks_and_scales(tensor, *found->second)) continue;
    used.insert(used.end(), {&tensor, found->second});
    Tensor joined = tensor;
    joined.name = stem;
    joined.codec = &codec;
    joined.shape = {tensor.shape[0], tensor.shape[1], tensor.shape[2] * 32};
    joined.origin = Stored{{tensor.stored().parts[0], found->second->stored().parts[0]}};
    out.push_back(std::move(joined));
  }
  if (used.empty()) return tensors;
  for (Tensor& tensor : tensors) {
    if (std::ranges::find(used, &tensor) == used.end()) out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace ckpt
