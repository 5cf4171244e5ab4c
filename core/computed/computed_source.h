// Bytes that are computed from other bytes while being read.
//
//   digest of a plan, inputs of a ledger, files to protect,             each_source ─▶ each_input
//   inputs that changed while being read, memory
//
// All code that needs to know which bytes a plan reads uses these functions, and every kind must
// implement them: a kind without them does not compile, and tests/core/computed_source_test.cc
// creates each kind in the list below.
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
  // Passes every slice that read() may read, in the order of the operation.
  virtual void each_input(const TakeInput& take) const = 0;
  // Describes the operation, with every number that the bytes depend on.
  virtual std::string operation() const = 0;
  // The memory that read() needs itself, without that for reading its inputs.
  virtual uint64_t own_scratch_bytes(uint64_t size_bytes) const = 0;

  uint64_t scratch_bytes(uint64_t size_bytes) const final;
  const ComputedSource* computed() const final { return this; }

 protected:
  // For read() functions that compute window by window: copies from `window` what `out` needs next.
  static void take_window(std::span<const std::byte> window, uint64_t& offset_bytes,
                          std::span<std::byte>& out);
  // For read() functions that make rows of `row_bytes`: make(row, rows, take) makes up to
  // `most_rows` rows and passes their bytes to take().
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

// Returns `source` as the kind T; nullptr if it is another kind.
template <class T>
const T* computed_as(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  return computed == nullptr || computed->kind() != T::kKind ? nullptr
                                                             : static_cast<const T*>(computed);
}

// Returns the source of kind T from which all bytes of the first part come, or nullptr.
template <class T>
const T* made_by(const Stored& stored) {
  if (stored.parts.empty() || stored.parts[0].size() != 1) return nullptr;
  return computed_as<T>(*stored.parts[0][0].source);
}

// Passes every slice of a Stored tensor, part by part.
void each_slice(const Tensor& tensor, const ComputedSource::TakeInput& take);
// Describes a tensor for operation(): its codec, its shape, and how its slices are divided among
// parts; for a computed tensor its source and described_change().
std::string described(const Tensor& tensor);
// Describes everything that affects the values: operations, weights, statistics, options, a repack.
// Values made while planning are described by their content.
std::string described_change(const Recoded& recoded);

// A tensor that a computed tensor reads, and its role.
struct TensorBehind {
  const char* what;
  const Tensor* tensor;
};
std::vector<TensorBehind> tensors_behind(const Recoded& recoded);

// Passes everything that executing the plan reads to `take`: each source once, computed sources
// before their inputs.
void each_source(std::span<const Output> outputs,
                 const std::function<void(const ByteSource&)>& take);
void each_source(const Plan& plan, const std::function<void(const ByteSource&)>& take);

// Requires that no file has changed since it was opened, if executing `plan` reads it or a
// FilesRead has recorded it. Fails: as check_unchanged().
Status check_inputs_unchanged(const Plan& plan);

}  // namespace ckpt
