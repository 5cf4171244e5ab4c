// Files that are open while they are used: a checkpoint may have more files than a process may open
// (`ulimit -n`, often 1024).
//
//   use() ──▶ open already?  then it moves to the front of all that are open
//             else           opened again; those used longest ago are closed to make room
//
// A file that was replaced meanwhile would be opened under its old name. So whoever opens again
// compares device and inode with those of the first opening.
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
  struct Opened {
    Descriptor plain;
    Descriptor direct;  // the same file opened for direct I/O; may be closed
  };
  using Lease = std::shared_ptr<const Opened>;  // stays open as long as somebody holds it
  using Open = std::function<Result<Opened>()>;

  // `again` opens the same file once more.
  OpenOnDemand(Opened first, Open again);
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

// Below this, direct I/O costs more than a copy out of the page cache or into it.
inline constexpr uint64_t kMinDirectBytes = 256 << 10;

// Opens the file behind `plain` once more for direct I/O: O_DIRECT is a property of the opening.
// Closed where the file system refuses. `access`: O_RDONLY or O_WRONLY.
Descriptor open_direct(const Descriptor& plain, int access);

// Fails with kIo when `file` is another one than the file that `first` describes.
Status check_same_file(const Descriptor& file, const struct stat& first);

}  // namespace ckpt
