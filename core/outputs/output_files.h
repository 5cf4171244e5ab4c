// The unfinished files of all outputs of a plan: their places, their writers, and their completion.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/model/plan.h"
#include "core/outputs/execute_options.h"
#include "core/outputs/file_writer.h"
#include "core/outputs/place.h"

namespace ckpt {

class OutputFiles {
 public:
  explicit OutputFiles(const Plan& plan) : plan_(plan) {}
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles() {
    if (pool_share_bytes_) pool_.end_share(*pool_share_bytes_);
  }

  // Creates all files, or reuses those of an earlier run. Fails: as check_space, Place::make and
  // FileWriter::create.
  Status open(bool force, Leftovers leftovers, FileMode mode);
  FileWriter& writer(uint32_t output, uint32_t file) { return *writers_[output][file]; }
  BufferPool& pool() { return pool_; }
  // Limits the memory of buffers, and the part of it for pieces that wait to be hashed, and sets
  // how many files are hashed together. Call once.
  void set_limits(uint64_t buffers_bytes, uint64_t pieces_bytes, size_t files_together) {
    pool_share_bytes_ = buffers_bytes;
    pool_.begin_share(buffers_bytes);
    room_.set_limits(pieces_bytes, files_together);
  }
  // Hashes the pieces that still wait for other files. Each thread calls it after its last piece.
  // Fails: kIo, if bytes that were written before cannot be read back to be hashed.
  Status hash_waiting() { return room_.hash_all(); }
  // Syncs every file. Requires: all bytes were put.
  Result<std::vector<FileReport>> finish();
  // `progress` reports kept files of a replaced folder.
  Status publish(Progress* progress);
  // Keeps all files under their temporary names.
  void keep();

 private:
  const Plan& plan_;
  BufferPool& pool_ = BufferPool::shared();
  std::optional<uint64_t> pool_share_bytes_;
  WaitingRoom room_;
  std::vector<Place> places_;
  std::vector<std::vector<std::unique_ptr<FileWriter>>> writers_;  // by output, then file
};

}  // namespace ckpt
