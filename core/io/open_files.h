// Opens files only while they are used, because a checkpoint may have more files than a process may
// open (`ulimit -n`, often 1024).
//
//   use() ──▶ open?      moved to the front of the list of open files
//             closed?    opened again; the least recently used ones are closed to make room
//
// If a file was replaced in the meantime, its name leads to another file, so callers compare device
// and inode with those of the first opening.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <list>
#include <memory>

#include "core/base/result.h"
#include "core/io/descriptor.h"

namespace ckpt {

class OpenOnDemand {
 public:
  struct OpenedFile {
    Descriptor plain;
    Descriptor direct;  // the same file opened for direct I/O; may be closed
  };
  using Lease = std::shared_ptr<const OpenedFile>;  // keeps the file open while it exists
  using Open = std::function<Result<OpenedFile>()>;

  // `again` opens the same file again.
  OpenOnDemand(OpenedFile first, Open again);
  OpenOnDemand(const OpenOnDemand&) = delete;
  OpenOnDemand& operator=(const OpenOnDemand&) = delete;
  ~OpenOnDemand();

  // Thread-safe. Fails: as `again`.
  Result<Lease> use();

 private:
  Open again_;
  Lease opened_;                              // null while closed
  std::list<OpenOnDemand*>::iterator place_;  // position in the list; valid if opened_ is not null
};

// Below this size, direct I/O costs more than a copy from or to the page cache.
inline constexpr uint64_t kMinDirectBytes = 256 << 10;

// Opens the file of `plain` again for direct I/O, because O_DIRECT belongs to the open file
// description. Closed if the file system refuses. `access`: O_RDONLY or O_WRONLY.
Descriptor open_direct(const Descriptor& plain, int access);

// Fails: kIo if `file` is not the file that `first` describes.
Status check_same_file(const Descriptor& file, const struct stat& first);

}  // namespace ckpt
