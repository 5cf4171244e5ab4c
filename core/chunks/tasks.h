// Splits a plan into tasks, the work of one thread at a time. Tasks are ordered by the position of
// their output; those of an encoded tensor by the position of its first part. If an output has
// several files, some are written in parallel, because one core computes the entire SHA-256 of a
// file, at 1 to 2 GB per second, and that of several files together at twice the rate.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/chunks/recode_chunk.h"
#include "core/computed/gather.h"
#include "core/model/plan.h"

namespace ckpt {

inline constexpr uint32_t kNoFile = UINT32_MAX;

// The place of a tensor's part in the output.
struct PartPlace {
  uint32_t file = kNoFile;  // index into Layout::files; kNoFile: its file is copied whole
  uint64_t offset_bytes = 0;
  auto operator<=>(const PartPlace&) const = default;
};

// A tensor of an output, with everything that its tasks share.
struct TensorJob {
  const Tensor* tensor = nullptr;
  std::vector<PartPlace> places;   // one per part
  std::vector<SliceIndex> slices;  // one per part of the source
  Grain grain;                     // Recoded only
  std::vector<uint32_t> scans;     // into Jobs::scans: those it needs, its own first
  std::optional<SliceIndex> block_amax;
};

// A tensor whose statistics are read before anything that depends on them is encoded.
struct ScanJob {
  const Tensor* tensor = nullptr;
  std::vector<SliceIndex> slices;
  Grain grain;
  uint32_t tasks = 0;  // number of tasks of this scan
};

struct Task {
  enum class Kind : uint8_t {
    kHeader,  // the file's header, then zeros: bytes [first, first + count)
    kCopy,    // a part of a Stored tensor, bytes [first, first + count) of it
    kRecode,  // rows [first, first + count) of a Recoded tensor, all parts
    kSameAs,  // bytes [first, first + count) of OutputFile::same_as
    kScan,    // rows [first, first + count) of Jobs::scans[job]; writes nothing
  };
  Kind kind;
  uint32_t output;
  uint32_t file;     // the first file it writes to
  uint32_t job = 0;  // index into Jobs::tensors of the output
  uint32_t part = 0;
  uint64_t offset_bytes;  // of the first byte it writes, in `file`
  uint64_t first, count;
  size_t order = 0;  // position when writing one file at a time; decides which error is reported
};

// A range of bytes in an output's file.
struct OutputRange {
  uint32_t output, file;
  uint64_t offset_bytes, size_bytes;
};

struct Jobs {
  std::vector<std::vector<TensorJob>> tensors;  // by output, then tensor
  std::vector<ScanJob> scans;
  std::vector<Task> tasks;
  uint64_t output_bytes = 0;
};

// Whether a tensor is read first for its statistics, and again for encoding.
bool needs_scan(const Tensor& tensor);

// How tasks are split and ordered.
struct Cut {
  uint64_t chunk_bytes;     // floats of one task
  unsigned parallel_files;  // of one output, written in parallel
};
// Requires: check(plan) passed; the plan outlives the jobs.
Jobs cut(const Plan& plan, const Cut& how);

// The magnitudes by which the blocks of a kRecode task are scaled; empty if the job has none.
Result<std::vector<float>> load_block_amax(const TensorJob& job, const Task& task);
// Does the same for rows of `tensor`'s grain; `slices` are those of its `block_amax`.
Result<std::vector<float>> load_block_amax(const Tensor& tensor, const SliceIndex& slices,
                                           uint64_t first, uint64_t rows);

// The ranges that a task writes, one per part; none for a scan.
std::vector<OutputRange> ranges_of(const Jobs& jobs, const Task& task);

// Keeps only the tasks of share `number` of `count` (from 1) and the scans that they need.
void take_share(Jobs& jobs, const Plan& plan, uint32_t number, uint32_t count);

}  // namespace ckpt
