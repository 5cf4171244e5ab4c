// Files that are open while they are used: a checkpoint may have more files than a process may open
// (`ulimit -n`, often 1024).
//
//   use() ──▶ open already?  then it moves to the front of all that are open
//             else           opened again; those used longest ago are closed to make room
//
// If a file was replaced in the meantime, opening its name again would open another file, so
// callers compare device and inode with those of the first opening.
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
  using Lease = std::shared_ptr<const OpenedFile>;  // stays open as long as somebody holds it
  using Open = std::function<Result<OpenedFile>()>;

  // `again` opens the same file once more.
  OpenOnDemand(OpenedFile first, Open again);
  OpenOnDemand(const OpenOnDemand&) = delete;
  OpenOnDemand& operator=(const OpenOnDemand&) = delete;
  ~OpenOnDemand();

  // Thread-safe. Fails: as `again`.
  Result<Lease> use();

 private:
  Open again_;
  Lease opened_;                              // null while it is closed
  std::list<OpenOnDemand*>::iterator place_;  // among those that are open; opened_ is not null
};

// Below this size, direct I/O costs more than a copy from or into the page cache.
inline constexpr uint64_t kMinDirectBytes = 256 << 10;

// Opens the file of `plain` once more for direct I/O, because O_DIRECT belongs to the open file
// description. Closed if the file system refuses. `access`: O_RDONLY or O_WRONLY.
Descriptor open_direct(const Descriptor& plain, int access);

// Fails: kIo if `file` is not the file that `first` describes.
Status check_same_file(const Descriptor& file, const struct stat& first);

}  // namespace ckpt
