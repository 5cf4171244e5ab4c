// Which tensors of a folder become tensors of a GGUF, in the order they are converted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// A tensor under the name by which rules know it.
struct NamedTensor {
  std::string name;  // without "language_model.", multi-token prediction as layers
  Tensor tensor;
  std::optional<float> input_scale = {};  // of an NVFP4 weight that has one
};

// The number of a scale as a factor: compressed-tensors stores what divides. Fails: kCorrupt: not a
// finite number above zero; as read_values.
Result<float> read_scale(const Tensor& tensor);

// Whether the tensor belongs to a vision, audio or speech tower or to its projector.
bool is_tower(std::string_view name);

// An entry next to quantized weights that is not a tensor of the model.
bool is_side_scale(std::string_view name);

// A tensor that only layers for multi-token prediction have.
bool is_of_draft(std::string_view name);

// True for weights whose bits GGUF's NVFP4 can hold, and for those that are yet to be encoded so.
bool is_nvfp4(const Tensor& tensor, Codecs codecs);

// Returns the tensors in the order in which they are converted. Names of tensors of towers go to
// model.towers instead. Sets model.mtp_layers to the number of layers for multi-token prediction,
// unless `keep_mtp` is false. Changes model.family if this checkpoint has transposed experts.
// Fails: kUnsupported for types that cannot be decoded, naming the quantization found.
Result<std::vector<NamedTensor>> select_tensors(const Checkpoint& checkpoint, bool keep_mtp,
                                                Model& model, Codecs codecs);

// The Dense modules of modules.json, which come before all other tensors; their widths go to
// `model`. Fails: kUsage: there are none; kCorrupt: a module lacks a file; kUnsupported.
Result<std::vector<NamedTensor>> read_dense_modules(const Checkpoint& checkpoint, Model& model,
                                                    Codecs codecs);

// The type of the first tensor of rank >= 2 that is BF16 or F16; F32 when there is none.
OutType guess_out_type(const std::vector<NamedTensor>& tensors);

}  // namespace ckpt
