// Files that are read, held against what they were when they were opened.
//
//   open_file ─▶ state: size, time of the last write, device, inode
//   before what was made of them gets its name ─▶ the same again, of what has the name now
//
// A trainer, or `rsync --inplace`, may write to a file while it is read: what is made of it would
// be a mixture of two contents that nobody ever had. The time of the last change of the inode does
// not count: a new hard link, a new mode and an extended attribute change it too. So a writer that
// sets size and time back to what they were is not seen.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/io/descriptor.h"

namespace ckpt {

struct FileState {
  uint64_t device = 0, inode = 0, size_bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  auto operator<=>(const FileState&) const = default;
};
FileState state_of(const struct stat& status);

// Fails with kCorrupt, saying what differs, when `path` leads to another file than it did, or to
// one that was written to.
Status check_unchanged(const std::filesystem::path& path, const FileState& before);

// While one of these lives, every file that open_file() opens, in this thread and in those that it
// starts, is written down. A file that was written to in this very moment is waited for: a second
// write within a tick of the system's clock would leave the same time. It ends in the thread in
// which it began, the last one first.
class FilesRead {
 public:
  FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;
  ~FilesRead();

 private:
  friend Status check_files_read();
  friend Result<struct stat> note_opened(const Descriptor& file, const std::filesystem::path& path);

  FilesRead* const outer_;  // may be null
  std::mutex mutex_;
  std::set<std::pair<std::string, FileState>> files_;
};

// Requires that no file which a FilesRead of this thread, or of the one that started it, has
// written down has changed since it was opened. Fails: as check_unchanged().
Status check_files_read();

// Fails: kIo.
Result<struct stat> status_of(const Descriptor& file);
// For open_file(): the state of `file`, which each FilesRead of this thread writes down.
// Fails: kIo.
Result<struct stat> note_opened(const Descriptor& file, const std::filesystem::path& path);

}  // namespace ckpt
