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
extern const PackedKind kGptqKind, kAwqKind, kPackedWordsKind, kScaledCodesKind, kFourBitsKind,
    kEightBitsKind, kExpertBlocksKind, kPackedPairsKind, kScaledFp8Kind, kBitnetKind, kTorchaoKind,
    kStackedNvfp4Kind;

// All weights that MLX quantized (mlx_codes.cc). Fails: as decode_mlx().
Result<std::vector<PackedWeight>> mlx_weights(const PackedJob& job, const Checkpoint& checkpoint);

// Fails: kCorrupt: FP8 that a codec reads has scales for other tiles than weight_block_size.
Status check_declared_block(const PackedJob& job, const Tensor& tensor);

// `tensor` is stored as one run of numbers of this type and of as many axes.
bool is_plain_grid(const Tensor& tensor, Dtype dtype, size_t axes);
bool is_float_grid(const Tensor& tensor, size_t axes);  // F32, F16 or BF16
bool is_fp8_grid(const Tensor& tensor);                 // E4M3 or E5M2, in two axes
// Its bytes. Requires: is_plain_grid or is_float_grid.
Slice only_slice(const Tensor& tensor);
// "tensor 'x.scales' is f16 [4, 8]; expected ...".
Failure wrong_part(const Tensor& tensor, std::string_view expected);
// The numbers of a list of a document; 0 for what is none.
std::vector<uint64_t> wholes_in(const JsonText* list);
// The group of each input, as `g_idx` has them. Fails: kCorrupt: one that is not below `groups`.
Result<std::vector<uint32_t>> groups_of_inputs(const Tensor& g_idx,
                                               const std::vector<int64_t>& values, uint64_t groups);

// A matrix, and the declared layout of its scales.
struct ScaledShape {
  uint64_t rows, columns;
  uint64_t group = 0;                // values of a row that share a scale; 0: not said
  std::vector<uint64_t> block = {};  // rows and columns of a tile; empty: not said
};
// For the tiles that `shape` says; where it says none, for the tensor, each row or groups of a row
// by the shape of `scale`. Fails: kCorrupt: of another shape or type.
Result<ScaleGrid> scales_of(const Tensor& scale, const ScaledShape& shape);
// "group 32", "channel", "blocks of 128 x 128", "tensor".
std::string describe(const ScaleGrid& scales);
// Codes of a byte, signed if they are I8.
CodeGrid byte_codes(const Tensor& codes, uint64_t rows, uint64_t columns);
// code x scale. Requires: I8 or is_fp8_grid. Fails: as scales_of.
Result<CodedMatrix> scaled_codes(const Tensor& codes, const Tensor& scale,
                                 const ScaledShape& shape);
// Zero points in `zeros`, one I8 for each scale of the matrix; `which` says of which scales.
Status add_byte_zeros(const Tensor& zeros, std::string_view which, CodedMatrix& matrix);
// Codes and scales of one matrix [rows, columns] as a tensor of floats.
Tensor coded_tensor(const PackedJob& job, const Tensor& first, std::string name,
                    CodedMatrix matrix);

}  // namespace ckpt
