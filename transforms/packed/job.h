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
  // The checkpoint must outlive the job.
  PackedJob(const Checkpoint& checkpoint, const QuantStatement& statement, Codecs codecs,
            bool reads_values);

  const QuantStatement statement;
  const Codecs codecs;
  const bool reads_values;  // false: checks that need values are skipped

  const Tensor* find(const std::string& name) const;  // nullptr if absent
  // Fails: kCorrupt if the tensor is missing; the message names `of`.
  Result<const Tensor*> need(const std::string& name, const Tensor& of) const;
  // The value of `key` in the __metadata__ of `of`'s file; null if absent.
  const std::string* file_note(const Tensor& of, std::string_view key) const;

 private:
  const Checkpoint& checkpoint_;
  std::unordered_map<std::string_view, const Tensor*> by_name_;
};

// A weight, and the tensors from which it was made.
struct PackedWeight {
  Tensor weight;
  std::vector<const Tensor*> parts;
  std::string label;  // "GPTQ 4 bits (group 128)"
};

// One layout.
struct PackedKind {
  std::string_view method;                                       // as spelled in quant_method
  bool (*is_first)(const PackedJob& job, const Tensor& tensor);  // holds the codes of a weight
  Result<PackedWeight> (*join)(const PackedJob& job, const Tensor& first);
};
extern const PackedKind kGptqKind, kAwqKind, kPackedWordsKind, kScaledCodesKind, kFourBitsKind,
    kEightBitsKind, kExpertBlocksKind, kPackedPairsKind, kScaledFp8Kind, kBitnetKind, kTorchaoKind,
    kStackedNvfp4Kind;

// All weights that MLX quantized (mlx_codes.cc). Fails: as decode_mlx().
Result<std::vector<PackedWeight>> mlx_weights(const PackedJob& job, const Checkpoint& checkpoint);

// Fails: kCorrupt: FP8 of a codec has scales for other tiles than weight_block_size declares.
Status check_declared_block(const PackedJob& job, const Tensor& tensor);

// Whether `tensor` is stored in one place with this type and number of axes.
bool is_plain_grid(const Tensor& tensor, Dtype dtype, size_t axes);
bool is_float_grid(const Tensor& tensor, size_t axes);  // F32, F16 or BF16
bool is_fp8_grid(const Tensor& tensor);                 // E4M3 or E5M2, with two axes
// The bytes of `tensor`. Requires: is_plain_grid or is_float_grid.
Slice only_slice(const Tensor& tensor);
// "tensor 'x.scales' is f16 [4, 8]; expected ...".
Failure wrong_part(const Tensor& tensor, std::string_view expected);
// The integers of a list in a document; 0 for other items.
std::vector<uint64_t> wholes_in(const JsonText* list);
// The group of each input from `g_idx`. Fails: kCorrupt: a group is not below `groups`.
Result<std::vector<uint32_t>> groups_of_inputs(const Tensor& g_idx,
                                               const std::vector<int64_t>& values, uint64_t groups);

// A matrix, and the declared layout of its scales.
struct ScaledShape {
  uint64_t rows, columns;
  uint64_t group = 0;                // values of a row per scale; 0: not declared
  std::vector<uint64_t> block = {};  // rows and columns of a tile; empty: not declared
};
// Scales for the tiles in `shape`; if it declares none, the shape of `scale` tells whether they are
// for the tensor, for rows or for groups in rows. Fails: kCorrupt: another shape or type.
Result<ScaleGrid> scales_of(const Tensor& scale, const ScaledShape& shape);
// "group 32", "channel", "blocks of 128 x 128", "tensor".
std::string describe(const ScaleGrid& scales);
// The value of each code: of 4 bits, and of 8 bits of E4M3 or E5M2.
std::shared_ptr<const std::vector<float>> e2m1_values();
std::shared_ptr<const std::vector<float>> fp8_values(Dtype dtype);
// One code per byte, signed if the type is I8.
CodeGrid byte_codes(const Tensor& codes, uint64_t rows, uint64_t columns);
// Values are code x scale. Requires: I8 or is_fp8_grid. Fails: as scales_of.
Result<CodedMatrix> scaled_codes(const Tensor& codes, const Tensor& scale,
                                 const ScaledShape& shape);
// Adds zero points from `zeros`, one I8 per scale of the matrix; `which` describes the scales.
Status add_byte_zeros(const Tensor& zeros, std::string_view which, CodedMatrix& matrix);
// Makes a float tensor from the codes and scales of one matrix [rows, columns].
Tensor coded_tensor(const PackedJob& job, const Tensor& first, std::string name,
                    CodedMatrix matrix);

}  // namespace ckpt
