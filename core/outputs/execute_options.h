// The options and the report of a run of the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/outputs/progress.h"

namespace ckpt {

// How a run resumes a killed one (core/resume/ledger.h).
struct ResumeOptions {
  bool enabled = false;  // false: a failed run leaves nothing behind
  std::string version;   // of the program; work of another version is not resumed
  std::string command;   // as typed; shown to users who find the output of this run
  // For execute_share() (core/engine/share.cc): number and count of shares, from 1; 0: the entire
  // plan. Files created before `since_ns` (since 1970) do not belong to this plan.
  uint32_t share_number = 0, share_count = 0;
  int64_t since_ns = 0;
};

struct ExecuteOptions {
  unsigned threads = 0;                         // cores to use; 0 = all
  uint64_t memory_bytes = uint64_t{512} << 20;  // memory for buffers
  uint64_t chunk_bytes = uint64_t{8} << 20;     // approximate size of a task in floats
  bool allow_nonfinite = false;
  bool force = false;  // overwrite OUT
  Progress* progress = nullptr;
  const std::atomic<bool>* interrupted = nullptr;
  ResumeOptions resume;
  // A folder for data of remote sources that is read twice and does not fit in memory. If empty,
  // such data is fetched twice.
  std::string cache_folder;
  uint64_t cache_bytes = uint64_t{64} << 30;
};

struct FileReport {
  std::string path;  // final path
  uint64_t size_bytes = 0;
  std::string sha256;  // lower-case hex, computed from the written bytes
  double hash_seconds = 0;  // of one core, as a file is one chain
};

struct ExecuteReport {
  std::vector<FileReport> files;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t resumed_bytes = 0;  // of these, bytes that earlier runs wrote
  double seconds = 0;
  // For a share: if one of the first two fields is set, no file has its final name yet.
  std::vector<uint32_t> missing_shares;
  bool is_ended_elsewhere = false;  // all shares are done, and another program is publishing them
  bool was_made = false;            // there was nothing left to do
};

}  // namespace ckpt
