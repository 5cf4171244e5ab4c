// Bytes that are computed from other bytes while they are read.
//
//   digest of a plan, inputs of a ledger, what may be overwritten,      each_source ─▶ each_input
//   inputs that changed while they were read, memory
//
// All code that needs to know which bytes a plan reads uses these functions, and every kind must
// implement them: a kind without them does not compile, and tests/core/computed_source_test.cc
// creates each kind of the list below.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/io/bytes.h"
#include "core/model/checkpoint.h"
#include "core/model/plan.h"

namespace ckpt {

class ComputedSource : public ByteSource {
 public:
  enum class Kind : uint8_t {
    kDecoded,
    kDecodedTensor,
    kTransposed,
    kStrided,
    kInterleaved,
    kJoined,
    kRepacked,
    kCoded,
    kMxfp4BlockAmax,
    kMerged,
    kWritten,
    kZstd,
    kCount,
  };
  using TakeInput = std::function<void(const Slice&)>;

  virtual Kind kind() const = 0;
  // Every slice that read() may read, in the order in which the operation has them.
  virtual void each_input(const TakeInput& take) const = 0;
  // The operation, with every number that the bytes depend on.
  virtual std::string operation() const = 0;
  // Memory that read() takes itself, without that of its inputs while they are read.
  virtual uint64_t own_scratch_bytes(uint64_t size_bytes) const = 0;

  uint64_t scratch_bytes(uint64_t size_bytes) const final;
  const ComputedSource* computed() const final { return this; }

 protected:
  // For read() that computes one window after the other: what `out` takes of it, from its start.
  static void take_window(std::span<const std::byte> window, uint64_t& offset_bytes,
                          std::span<std::byte>& out);
  // read() of rows of `row_bytes`: make(row, rows, take) makes up to so many and hands their
  // bytes to take().
  struct RowSize {
    uint64_t row_bytes, most_rows;
  };
  template <class Make>
  Status read_rows(uint64_t offset_bytes, std::span<std::byte> out, RowSize size,
                   const Make& make) const {
    CKPT_TRY(check_range(offset_bytes, out.size()));
    while (!out.empty()) {
      const uint64_t skipped_bytes = offset_bytes % size.row_bytes;
      const uint64_t wanted = divide_up(skipped_bytes + out.size(), size.row_bytes);
      const auto take = [&](std::span<const std::byte> made) {
        take_window(made.subspan(skipped_bytes), offset_bytes, out);
      };
      CKPT_TRY(make(offset_bytes / size.row_bytes, std::min(wanted, size.most_rows), take));
    }
    return {};
  }
};

// `source` as the kind T; nullptr if it is another kind.
template <class T>
const T* computed_as(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  return computed == nullptr || computed->kind() != T::kKind ? nullptr
                                                             : static_cast<const T*>(computed);
}

// The source of kind T that all bytes of the first part come from, or nullptr.
template <class T>
const T* made_by(const Stored& stored) {
  if (stored.parts.empty() || stored.parts[0].size() != 1) return nullptr;
  return computed_as<T>(*stored.parts[0][0].source);
}

// Every slice of a Stored tensor, part after part.
void each_slice(const Tensor& tensor, const ComputedSource::TakeInput& take);
// For operation(): its codec, its shape, and how its slices are divided among parts; of a computed
// tensor what it is made from, and described_change().
std::string described(const Tensor& tensor);
// All that decides what becomes of the values: operations, weights, statistics, options, a repack.
// Values made while planning are described by their content.
std::string described_change(const Recoded& recoded);

// The tensors that a computed tensor reads, with the role of each.
struct TensorBehind {
  const char* what;
  const Tensor* tensor;
};
std::vector<TensorBehind> tensors_behind(const Recoded& recoded);

// Everything that executing `plan` reads: each source once, computed ones before their inputs.
void each_source(std::span<const Output> outputs,
                 const std::function<void(const ByteSource&)>& take);
void each_source(const Plan& plan, const std::function<void(const ByteSource&)>& take);

// Requires that no file which executing `plan` reads, or which a FilesRead has recorded, has
// changed since it was opened. Fails: as check_unchanged().
Status check_inputs_unchanged(const Plan& plan);

}  // namespace ckpt
