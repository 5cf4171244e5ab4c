// Shared by the readers of packed layouts; private to transforms/packed/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/computed/coded_matrix.h"
#include "core/model/checkpoint.h"
#include "transforms/facts/quant_statement.h"

namespace ckpt {

class PackedJob {
 public:
  // The checkpoint outlives the job.
  PackedJob(const Checkpoint& checkpoint, const QuantStatement& statement, Codecs codecs,
            bool reads_values);

  const QuantStatement statement;
  const Codecs codecs;
  const bool reads_values;  // else what needs them is taken as sound

  const Tensor* find(const std::string& name) const;  // nullptr when absent
  // Fails: kCorrupt, naming `of`: the tensor is missing.
  Result<const Tensor*> need(const std::string& name, const Tensor& of) const;
  // The value of `key` in the __metadata__ of `of`'s file; null without one.
  const std::string* file_note(const Tensor& of, std::string_view key) const;

 private:
  const Checkpoint& checkpoint_;
  std::unordered_map<std::string_view, const Tensor*> by_name_;
};

// A weight, and the tensors that it was made of.
struct PackedWeight {
  Tensor weight;
  std::vector<const Tensor*> parts;
  std::string label;  // "GPTQ 4 bits (group 128)"
};

// One layout.
struct PackedKind {
  std::string_view method;                                       // as quant_method spells it
  bool (*is_first)(const PackedJob& job, const Tensor& tensor);  // it holds codes of such a weight
  Result<PackedWeight> (*join)(const PackedJob& job, const Tensor& first);
};
std::span<const PackedKind> gptq_kinds();
std::span<const PackedKind> compressed_kinds();
std::span<const PackedKind> bitsandbytes_kinds();
std::span<const PackedKind> fp8_kinds();
// Fails: kCorrupt: FP8 that a codec reads has scales for other tiles than weight_block_size.
Status check_said_block(const PackedJob& job, const Tensor& tensor);
std::span<const PackedKind> mxfp4_kinds();
std::span<const PackedKind> torchao_kinds();
std::span<const PackedKind> stacked_nvfp4_kinds();

// ---- what the readers are written with ---------------------------------------------------------

// `tensor` is stored as one run of numbers of this type and of as many axes.
bool is_plain_grid(const Tensor& tensor, Dtype dtype, size_t axes);
bool is_float_grid(const Tensor& tensor, size_t axes);  // F32, F16 or BF16
// Its bytes. Requires: is_plain_grid or is_float_grid.
Slice only_slice(const Tensor& tensor);
// "tensor 'x.scales' is f16 [4, 8]; expected ...".
Failure wrong_part(const Tensor& tensor, std::string_view expected);
// Zero points in `zeros`, one I8 for each scale of the matrix; `which` says of which scales.
Status add_byte_zeros(const Tensor& zeros, std::string_view which, CodedMatrix& matrix);
// Codes and scales of one matrix [rows, columns] as a tensor of floats.
Tensor coded_tensor(const PackedJob& job, const Tensor& first, std::string name,
                    CodedMatrix matrix);

}  // namespace ckpt
