#include "core/shift.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/place.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

Failure io_failure(const fs::path& path, const char* doing, int error) {
  return fail(ErrorCode::kIo, "{}: {}: {}", path.string(), doing, std::strerror(error));
}

bool write_all(int descriptor, std::span<const std::byte> bytes, uint64_t offset_bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset_bytes += static_cast<uint64_t>(written);
  }
  return true;
}

bool clone(int from, int to, uint64_t shift_bytes) {
  file_clone_range range{};
  range.src_fd = from;
  range.dest_offset = shift_bytes;  // length 0: up to the end
  return ::ioctl(to, FICLONERANGE, &range) == 0;
}

// By the kernel where it can; some file systems refuse between two of them.
Status copy_all(int from, int to, const fs::path& path) {
  constexpr size_t kStepBytes = size_t{64} << 20;
  ssize_t copied = 0;
  do {
    copied = ::copy_file_range(from, nullptr, to, nullptr, kStepBytes, 0);
  } while (copied > 0 || (copied < 0 && errno == EINTR));
  if (copied == 0) return {};
  std::vector<std::byte> buffer(size_t{4} << 20);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return {};
    const off_t at = ::lseek(to, 0, SEEK_CUR);
    const auto size = static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got < 0 || at < 0 ||
        !write_all(to, std::span(buffer).first(size), static_cast<uint64_t>(at)) ||
        ::lseek(to, static_cast<off_t>(size), SEEK_CUR) < 0) {
      return io_failure(path, "cannot be copied", errno);
    }
  }
}

}  // namespace

ShiftAbility probe_shift(const fs::path& folder) {
  const auto nameless = [&] {
    return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  };
  const Descriptor one(nameless());
  const Descriptor two(nameless());
  struct stat status {};
  if (!one.is_open() || !two.is_open() || ::fstat(one.get(), &status) != 0) return {};
  const auto block = static_cast<uint64_t>(status.st_blksize);
  if (block == 0 || block > (1 << 20)) return {};
  // An odd end, as real files have.
  const std::vector<std::byte> bytes(2 * block + 5, std::byte{1});
  if (!write_all(one.get(), bytes, 0)) return {};
  if (clone(one.get(), two.get(), block)) return {ShiftWay::kClone, block};
  if (::fallocate(one.get(), FALLOC_FL_INSERT_RANGE, 0, static_cast<off_t>(block)) == 0) {
    return {ShiftWay::kInsert, block};
  }
  return {};
}

Status clone_with_header(const fs::path& from, const fs::path& to, uint64_t shift_bytes,
                         std::span<const std::byte> header) {
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) return io_failure(from, "cannot be opened", errno);
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!out.is_open()) return io_failure(to, "cannot be made", errno);
  settle_ownership(to, false, to.parent_path());
  if (clone(source.get(), out.get(), shift_bytes) && write_all(out.get(), header, 0) &&
      ::fsync(out.get()) == 0) {
    return {};
  }
  const int error = errno;
  ::unlink(to.c_str());
  return io_failure(to, "cannot share the blocks of the old file", error);
}

Status link_file(const fs::path& from, const fs::path& to, LinkWay way) {
  if (way == LinkWay::kHard) {
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
    if (errno != EXDEV) return io_failure(to, "cannot be linked", errno);
    return fail_with_hint(ErrorCode::kUsage, "--link copy", "{}: lies on another disk than {}",
                          to.string(), from.string());
  }
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) return io_failure(from, "cannot be opened", errno);
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!out.is_open()) return io_failure(to, "cannot be made", errno);
  settle_ownership(to, false, to.parent_path());
  const bool shared = way == LinkWay::kReflink && clone(source.get(), out.get(), 0);
  if (!shared) CKPT_TRY(copy_all(source.get(), out.get(), to));
  if (::fsync(out.get()) == 0) return {};
  return io_failure(to, "cannot be written", errno);
}

Status insert_in_front(const fs::path& path, uint64_t shift_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return io_failure(path, "cannot be opened for writing", errno);
  const auto size = static_cast<off_t>(shift_bytes);
  if (::fallocate(file.get(), FALLOC_FL_INSERT_RANGE, 0, size) == 0) return {};
  return io_failure(path, "cannot insert room in front", errno);
}

Status write_synced(const fs::path& path, std::span<const std::byte> bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.is_open()) return io_failure(path, "cannot be made", errno);
  if (write_all(file.get(), bytes, 0) && ::fsync(file.get()) == 0) return {};
  return io_failure(path, "cannot be written", errno);
}

Status overwrite_start(const fs::path& path, std::span<const std::byte> bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return io_failure(path, "cannot be opened for writing", errno);
  if (write_all(file.get(), bytes, 0) && ::fsync(file.get()) == 0) return {};
  return io_failure(path, "cannot be written", errno);
}

}  // namespace ckpt
