// A stack of matrices with rows and columns exchanged, decoded to F32: experts whose codes are
// stored as [out, in] but whose floats are [in, out].
//
//   stored  [n, rows, columns], of any codec whose blocks are in rows      read as  f32 [n,
//   columns, rows]
//
// Nothing is kept in memory; values are read and decoded on demand. Each row of the result needs a
// few values of every stored row, so the size of a request determines how often a stored row is
// read; within a request it is decoded once.
#pragma once

#include <string>

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"
#include "core/io/bytes.h"
#include "core/model/checkpoint.h"

namespace ckpt {

class TransposedSource final : public ComputedSource {
 public:
  // Whether it can be read: Stored, three axes, no scale shared by rows or by an entire row.
  static bool takes(const Tensor& tensor);
  // Requires: takes(tensor).
  explicit TransposedSource(Tensor tensor);

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override;
  uint64_t size_bytes() const override { return tensor_.values() * sizeof(float); }
  uint64_t own_scratch_bytes(uint64_t size_bytes) const override;
  const std::string& name() const override { return tensor_.name; }
  static constexpr Kind kKind = Kind::kTransposed;
  Kind kind() const override { return kKind; }
  void each_input(const TakeInput& take) const override { each_slice(tensor_, take); }
  std::string operation() const override { return described(tensor_); }
  const Tensor& tensor() const { return tensor_; }

 private:
  // Columns [first, first + count) of one stored matrix, in complete blocks.
  struct Window {
    uint64_t matrix, first, count;
  };
  Status fill(const Window& window, std::span<float> out) const;
  Status decode(const Window& window, uint64_t first_row, std::span<float> out) const;

  Tensor tensor_;
  std::vector<SliceIndex> parts_;
};

}  // namespace ckpt
