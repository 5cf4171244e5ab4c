// Selects the tensors of a folder that become tensors of a GGUF, in the order of conversion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transforms/to_gguf/model.h"

namespace ckpt {

// A tensor with the name that the rules match.
struct NamedTensor {
  std::string name;  // without "language_model."; multi-token prediction as layers
  Tensor tensor;
  std::optional<float> input_scale = {};  // for an NVFP4 weight that has one
};

// Reads a scale as a factor: compressed-tensors stores divisors. Fails: kCorrupt: not a finite
// number above zero; otherwise as read_values.
Result<float> read_scale(const Tensor& tensor);

// Whether an entry accompanies quantized weights without being a tensor of the model.
bool is_side_scale(std::string_view name);

// Whether only layers for multi-token prediction have such a tensor.
bool is_of_draft(std::string_view name);

// Whether GGUF's NVFP4 can hold the weight's bits, or the weight will be encoded as NVFP4.
bool is_nvfp4(const Tensor& tensor, Codecs codecs);

// Returns the tensors in the order of conversion. Puts the names of tensors in towers into
// model.towers instead. Sets model.mtp_layers to the number of layers for multi-token prediction,
// unless `keep_mtp` is false. Changes model.family if this checkpoint has transposed experts.
// Fails: kUnsupported for types that cannot be decoded, naming the quantization found.
Result<std::vector<NamedTensor>> select_tensors(const Checkpoint& checkpoint, bool keep_mtp,
                                                Model& model, Codecs codecs);

// The Dense modules in modules.json, which precede all other tensors; sets their widths in `model`.
// Fails: kUsage: there are none; kCorrupt: a module lacks a file; kUnsupported.
Result<std::vector<NamedTensor>> read_dense_modules(const Checkpoint& checkpoint, Model& model,
                                                    Codecs codecs);

// The type of the first BF16 or F16 tensor of rank >= 2; F32 if there is none.
OutType guess_out_type(const std::vector<NamedTensor>& tensors);

}  // namespace ckpt
