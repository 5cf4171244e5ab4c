#include "core/io/shift.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/io/paths.h"
#include "core/io/remembered.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

bool clone(int from, int to, uint64_t shift_bytes) {
  file_clone_range range{};
  range.src_fd = from;
  range.dest_offset = shift_bytes;  // length 0 means up to the end
  return retried([&] { return ::ioctl(to, FICLONERANGE, &range); }) == 0;
}

// Copies in the kernel if possible; some file systems refuse between two of them. Both descriptors
// must be positioned at their start.
bool copy_all(int from, int to) {
  constexpr size_t kStepBytes = size_t{64} << 20;
  ssize_t copied = 0;
  do {
    copied = retried([&] { return ::copy_file_range(from, nullptr, to, nullptr, kStepBytes, 0); });
  } while (copied > 0);
  if (copied == 0) return true;
  std::vector<std::byte> buffer(size_t{4} << 20);
  for (;;) {
    const ssize_t got = retried([&] { return ::read(from, buffer.data(), buffer.size()); });
    if (got == 0) return true;
    const off_t at = ::lseek(to, 0, SEEK_CUR);
    const auto size = static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got < 0 || at < 0 ||
        !write_all(to, std::span(buffer).first(size), static_cast<uint64_t>(at)) ||
        ::lseek(to, static_cast<off_t>(size), SEEK_CUR) < 0) {
      return false;
    }
  }
}

bool sync(int descriptor) {
  return retried([&] { return ::fsync(descriptor); }) == 0;
}

bool insert(int descriptor, uint64_t size_bytes) {
  const auto size = static_cast<off_t>(size_bytes);
  return retried([&] { return ::fallocate(descriptor, FALLOC_FL_INSERT_RANGE, 0, size); }) == 0;
}

fs::path shown(const FileBelow& file) { return file.folder.path() / file.name; }

Result<Descriptor> make_file(const FileBelow& file) {
  return file.folder.open_file(file.name, O_WRONLY | O_CREAT | O_EXCL);
}

Result<Descriptor> open_to_read(const fs::path& path) {
  Descriptor source(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (source.is_open()) return source;
  return io_failure(path, "cannot be opened", errno);
}

}  // namespace

ShiftAbility probe_shift(const fs::path& folder) {
  const auto nameless = [&] {
    return retried([&] { return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); });
  };
  const Descriptor one(nameless());
  const Descriptor two(nameless());
  struct stat status{};
  if (!one.is_open() || !two.is_open() || ::fstat(one.get(), &status) != 0) return {};
  const auto block = static_cast<uint64_t>(status.st_blksize);
  if (block == 0 || block > (1 << 20)) return {};
  // An unaligned end, as real files have.
  const std::vector<std::byte> bytes(2 * block + 5, std::byte{1});
  if (!write_all(one.get(), bytes, 0)) return {};
  if (clone(one.get(), two.get(), block)) return {ShiftWay::kClone, block};
  if (insert(one.get(), block)) {
    return {ShiftWay::kInsert, block};
  }
  return {};
}

Status clone_with_header(const fs::path& from, const FileBelow& to, uint64_t shift_bytes,
                         std::span<const std::byte> header) {
  CKPT_ASSIGN(const Descriptor source, open_to_read(from));
  CKPT_ASSIGN(const Descriptor out, make_file(to));
  if (clone(source.get(), out.get(), shift_bytes) && write_all(out.get(), header, 0) &&
      sync(out.get())) {
    return {};
  }
  const int error = errno;
  (void)to.folder.remove(to.name);
  return io_failure(shown(to), "cannot share the blocks of the old file", error);
}

Status link_file(const fs::path& from, const FileBelow& to, LinkWay way) {
  CKPT_ASSIGN(const Descriptor source, open_to_read(from));
  if (way == LinkWay::kHard) {
    const auto digest = remembered_digest(from);
    CKPT_TRY(to.folder.link(source, from, to.name));
    if (digest) remember_digest(from, *digest);  // the hard link changed the inode
    return {};
  }
  CKPT_ASSIGN(const Descriptor out, make_file(to));
  const bool shared = way == LinkWay::kReflink && clone(source.get(), out.get(), 0);
  if ((shared || copy_all(source.get(), out.get())) && sync(out.get())) return {};
  return io_failure(shown(to), "cannot be copied", errno);
}

Status insert_in_front(const FileBelow& file, const std::string& spare, uint64_t shift_bytes) {
  CKPT_ASSIGN(const Descriptor old, file.folder.open_file(file.name, O_RDWR));
  if (insert(old.get(), shift_bytes)) return {};
  CKPT_TRY(file.folder.remove(spare));  // of a run that stopped here
  CKPT_ASSIGN(const Descriptor out, make_file({file.folder, spare}));
  const bool copied = ::lseek(out.get(), static_cast<off_t>(shift_bytes), SEEK_SET) >= 0 &&
                      copy_all(old.get(), out.get()) && sync(out.get());
  if (!copied) return io_failure(shown(file), "cannot be given room in front", errno);
  CKPT_TRY(file.folder.give_attributes(file.name, spare));
  return file.folder.rename(spare, file.name);
}

Result<std::string> read_whole(const FileBelow& file, uint64_t limit_bytes) {
  CKPT_ASSIGN(const Descriptor in, file.folder.open_file(file.name, O_RDONLY | O_NONBLOCK));
  struct stat status{};
  if (::fstat(in.get(), &status) != 0) return io_failure(shown(file), "cannot be read", errno);
  const auto size_bytes = static_cast<uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size_bytes > limit_bytes) {
    return corrupt("{}: {} bytes; expected a file of at most {}", shown(file).string(), size_bytes,
                   limit_bytes);
  }
  std::string bytes(size_bytes, '\0');
  const ssize_t got = read_all(in.get(), std::as_writable_bytes(std::span(bytes)), 0);
  if (got == status.st_size) return bytes;
  return io_failure(shown(file), "cannot be read", got < 0 ? errno : EIO);
}

Status write_synced(const FileBelow& file, std::span<const std::byte> bytes) {
  CKPT_ASSIGN(const Descriptor out, make_file(file));
  return write_synced(out.get(), shown(file), bytes);
}

Status write_synced(int descriptor, const fs::path& shown, std::span<const std::byte> bytes) {
  if (write_all(descriptor, bytes, 0) && sync(descriptor)) return {};
  return io_failure(shown, "cannot be written", errno);
}

Status overwrite_start(const FileBelow& file, std::span<const std::byte> bytes) {
  CKPT_ASSIGN(const Descriptor out, file.folder.open_file(file.name, O_WRONLY));
  return write_synced(out.get(), shown(file), bytes);
}

}  // namespace ckpt
