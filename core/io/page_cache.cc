#include "core/io/page_cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "core/io/descriptor.h"

namespace ckpt {

bool is_in_page_cache(const std::filesystem::path& path) {
  constexpr off_t kSamples = 16;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  struct statfs system{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode)) return false;
  if (::fstatfs(file.get(), &system) == 0 && system.f_type == TMPFS_MAGIC) return true;
  for (off_t i = 0; i < kSamples && status.st_size > 0; ++i) {
    char byte = 0;
    const iovec place{&byte, 1};
    const off_t offset = status.st_size / kSamples * i;
    if (::preadv2(file.get(), &place, 1, offset, RWF_NOWAIT) != 1) return false;
  }
  return true;
}

}  // namespace ckpt
