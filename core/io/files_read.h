// Checks that input files have not changed since they were opened.
//
//   open_file ─▶ state: size, time of the last write, device, inode
//   before an output gets its name ─▶ the state again, of the file that now has the input's name
//
// A trainer, or `rsync --inplace`, may write to a file while it is read; the output would then be a
// mixture of two contents. The time of the inode's last change is not compared, because a new hard
// link, mode or extended attribute changes it too. A writer that restores size and time during the
// run is therefore not detected.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/result.h"
#include "core/io/descriptor.h"

namespace ckpt {

// The time of a file that may have been replaced since without a trace.
inline constexpr int64_t kTimeUnknown = std::numeric_limits<int64_t>::min();

struct FileState {
  uint64_t device = 0, inode = 0, size_bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  bool shows_changes = true;  // false: a server may send other content unnoticed
  bool has_listed_digest = false;  // listed by its server; reading pieces does not verify it
  // Time of the inode's change in ns since 1970; 0 for a URL. Only compared if a file should not
  // have changed in between: by resumed runs and stored digests.
  int64_t changed_ns = 0;
  friend bool operator==(const FileState& a, const FileState& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const FileState& a, const FileState& b) {
    const auto compared = [](const FileState& each) {
      return std::tie(each.device, each.inode, each.size_bytes, each.modified_ns,
                      each.shows_changes);
    };
    return compared(a) <=> compared(b);
  }
};
FileState state_of(const struct stat& status);

// Fails: kCorrupt, naming the difference, if `path` leads to another file than before, or to one
// that was written to.
Status check_unchanged(const std::filesystem::path& path, const FileState& before);

// While an object of this class exists, it records every file that open_file() opens in this thread
// and in threads that it starts. If a file was written to a moment ago, open_file() waits, because
// a second write within a tick of the system's clock would leave the same time. Objects must be
// destroyed in the thread that created them, in reverse order.
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

// Requires that no file recorded by a FilesRead of this thread, or of the thread that started it,
// has changed since it was opened. Fails: as check_unchanged().
Status check_files_read();

// Returns the status of an open file. Fails: kIo.
Result<struct stat> status_of(const Descriptor& file);
// For open_file(): the state of `file`, recorded by each FilesRead of this thread. Fails: kIo.
Result<struct stat> note_opened(const Descriptor& file, const std::filesystem::path& path);

}  // namespace ckpt
