#include "core/io/disk_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/arithmetic.h"

namespace ckpt {
namespace {

// Opens a file without a name, even on file systems that do not support this.
Descriptor open_nameless(const std::filesystem::path& folder) {
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open() || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = (folder / ".ckpt-cache-XXXXXX").string();
  Descriptor named(::mkostemp(name.data(), O_CLOEXEC));
  if (named.is_open()) ::unlink(name.c_str());
  return named;
}

}  // namespace

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::filesystem::path& folder,
                                                   uint64_t capacity_bytes) {
  Descriptor file = open_nameless(folder);
  if (!file.is_open()) {
    return fail_with_hint(ErrorCode::kIo, "a folder that exists and may be written to",
                          "{}: {}", folder.string(), std::strerror(errno));
  }
  return std::unique_ptr<DiskCache>(new DiskCache(std::move(file), capacity_bytes));
}

void DiskCache::keep(const ByteSource& source, uint64_t offset_bytes,
                     std::span<const std::byte> bytes) {
  const uint64_t size = round_up(bytes.size(), kPageBytes);
  uint64_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    if (size > capacity_bytes_ - used_bytes_) return;
    used_bytes_ += size;
    place = end_;
    end_ += size;
  }
  if (!write_all(file_.get(), bytes, place)) {
    release(place, size);
    return;
  }
  const std::lock_guard lock(mutex_);
  places_.insert_or_assign({&source, offset_bytes, bytes.size()}, place);
}

bool DiskCache::take(const ByteSource& source, uint64_t offset_bytes, std::span<std::byte> out) {
  uint64_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find({&source, offset_bytes, out.size()});
    if (found == places_.end()) return false;
    place = found->second;
    places_.erase(found);
  }
  const bool is_read = read_all(file_.get(), out, place) == std::ssize(out);
  release(place, round_up(out.size(), kPageBytes));
  return is_read;
}

// Gives the bytes back to the file system by a hole in the file, or keeps them if it has no holes.
void DiskCache::release(uint64_t place, uint64_t size_bytes) {
  const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const bool is_free = ::fallocate(file_.get(), how, static_cast<off_t>(place),
                                   static_cast<off_t>(size_bytes)) == 0;
  const std::lock_guard lock(mutex_);
  if (is_free) used_bytes_ -= size_bytes;
}

}  // namespace ckpt
