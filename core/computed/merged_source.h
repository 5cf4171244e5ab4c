// Weights that an adapter changes while they are read.
//
//   base [rows, columns] ── decode ─▶ rows of floats ── change ─▶ rounded once to the base's type
//
//   low_rank_source.h    a product of two narrow matrices is added: LoRA and its relatives
//   row_change.h         each row becomes a function of itself and of small factors: OFT, LoKr, ...
#pragma once

#include <memory>
#include <string>

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/io/bytes.h"
#include "core/model/checkpoint.h"

namespace ckpt {

class MergedSource : public ComputedSource {
 public:
  // Requires: `base` is Stored plain floats.
  explicit MergedSource(Tensor base);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const final;
  uint64_t size_bytes() const final { return base_bytes_.size_bytes(); }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const final;
  const std::string& name() const final { return base_.name; }
  static constexpr Kind kKind = Kind::kMerged;
  Kind kind() const final { return kKind; }

  const Tensor& base() const { return base_; }
  // Applies the change to `rows`, which are rows of the base from number `first` on, stored in any
  // type of floats. The result has their type and is rounded once. Fails: kUnsupported: a row
  // cannot be changed without the other rows.
  virtual Result<Tensor> changed(const Tensor& rows, uint64_t first) const = 0;

 protected:
  using Floats = std::vector<float>;
  using SharedFloats = std::shared_ptr<const Floats>;

  // Loads what the change of every row needs, such as an adapter's factors. Threads that read at
  // the same time share it, and it is freed when the last of them ends.
  virtual Result<std::shared_ptr<const void>> hold() const = 0;
  // Changes rows of the base from `first` on.
  virtual Status change(uint64_t first, FloatRows values) const = 0;
  // The memory that hold() takes, and change() for a strip of `strip_values` values.
  virtual uint64_t change_bytes(uint64_t strip_values) const = 0;

  uint64_t strip_rows() const;
  uint64_t row_bytes() const { return size_bytes() / base_.rows(); }

  Tensor base_;

 private:
  Status merge(uint64_t first, std::span<const std::byte> raw, std::span<std::byte> out) const;

  SliceIndex base_bytes_;
};

// Values [first, first + out.size()) of a tensor of plain floats.
Status read_floats(const Tensor& tensor, uint64_t first, std::span<float> out);
void encode_floats(const Codec& codec, std::span<const float> values, std::span<std::byte> out);
// Fails: kUnsupported: not Stored plain floats.
Status check_stored_floats(const Tensor& tensor);
// A copy of `base` that reads its bytes from `source`.
Tensor stored_in(const Tensor& base, std::shared_ptr<const MergedSource> source);

// Whether `source` computes its bytes from a weight that an adapter changes.
bool reads_lora_merge(const ByteSource& source);
// Whether an adapter was added to `tensor`, a weight of a GGUF whose result has not been encoded in
// ggml's blocks yet.
bool is_lora_merge(const Tensor& tensor);

}  // namespace ckpt
