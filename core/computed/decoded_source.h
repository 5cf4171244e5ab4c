// Reads stored values of one type as F32, for tensors that are joined from several types.
//
//   bf16 in the file  00 3f | 80 3f | ...      read as f32  00 00 00 3f | 00 00 80 3f | ...
//
// Nothing is kept in memory; values are read and decoded on demand. Offsets and sizes are those of
// the decoded bytes, and may be within a value.
#pragma once

#include <string>

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/io/bytes.h"
#include "core/model/checkpoint.h"

namespace ckpt {

class DecodedSource final : public ComputedSource {
 public:
  // Requires: complete blocks of a codec with one part, split by rows and blocks, and a decoder.
  DecodedSource(Slice encoded, const Codec& codec);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override;
  const std::string& name() const override { return encoded_.source->name(); }
  static constexpr Kind kKind = Kind::kDecoded;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override { take(encoded_); }
  std::string operation() const override { return std::string(codec_.name); }
  const Slice& encoded() const { return encoded_; }
  const Codec& codec() const { return codec_; }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;

 private:
  Slice encoded_;
  const Codec& codec_;
  uint64_t block_bytes_;
};

// Does the same for a tensor whose codec has several parts, or rows that are coded together.
class DecodedTensor final : public ComputedSource {
 public:
  // Requires: the tensor is Stored and its codec has a decoder.
  explicit DecodedTensor(Tensor tensor);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override { return tensor_.values() * sizeof(float); }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;
  const std::string& name() const override { return tensor_.name; }
  static constexpr Kind kKind = Kind::kDecodedTensor;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override { each_slice(tensor_, take); }
  std::string operation() const override { return described(tensor_); }

 private:
  Status decode_rows(uint64_t first, std::span<float> values) const;

  Tensor tensor_;
  std::vector<SliceIndex> parts_;
};

// Returns the same values with the codec `f32`. Requires: the tensor is Stored, and its codec has a
// decoder.
Tensor stored_as_f32(const Tensor& tensor, const Codec& f32);

// A tensor as Stored values, whose rows can be split and joined, and its operations on values: none
// if the tensor was Stored.
struct StoredValues {
  Tensor values;  // F32 if the tensor was computed
  const Codec* codec = nullptr;
  std::vector<ValueOp> ops = {};

  // Gives `rows`, which were split or joined from such values, the tensor's codec and operations.
  Result<Tensor> back(Tensor rows) const;
  bool is_computed() const { return values.codec != codec || !ops.empty(); }
  // Whether the only change is rounding to `codec`.
  bool rounds_as_stored() const;
};
// Fails: kUnsupported: an operation depends on the position of values.
Result<StoredValues> stored_values(const Tensor& tensor, const Codec& f32);

}  // namespace ckpt
