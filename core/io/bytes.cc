#include "core/io/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/arithmetic.h"
#include "core/io/open_files.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"

namespace ckpt {
namespace {

std::string errno_text() { return std::strerror(errno); }

Result<Descriptor> open_for_reading(const std::filesystem::path& path) {
  // O_NONBLOCK, so that a named pipe in a model folder does not make us wait for its writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open()) return file;
  return open_failure(path, errno);
}

class File final : public ByteSource {
 public:
  File(std::string path, Descriptor descriptor, const struct stat& status)
      : path_(std::move(path)),
        status_(status),
        state_(state_of(status)),
        size_bytes_(static_cast<uint64_t>(status.st_size)),
        files_(with_direct(std::move(descriptor)), [this] { return open_again(); }) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    CKPT_TRY(check_range(offset_bytes, out.size()));
    CKPT_ASSIGN(const OpenOnDemand::Lease file, files_.use());
    while (!out.empty()) {
      const ssize_t got =
          ::pread(file->plain.get(), out.data(), out.size(), static_cast<off_t>(offset_bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return in(path_, Status(fail(ErrorCode::kIo, "cannot read {} bytes at {}: {}", out.size(),
                                     offset_bytes, errno_text())));
      }
      if (got == 0) {
        return in(path_, Status(corrupt("ends at byte {}; it had {} bytes when it was opened",
                                        offset_bytes, size_bytes_)));
      }
      out = out.subspan(static_cast<size_t>(got));
      offset_bytes += static_cast<uint64_t>(got);
    }
    return {};
  }

  // Copies bytes that are in the page cache and reads others directly, so that a model larger than
  // memory neither fills the cache nor pays for a copy.
  Result<std::span<const std::byte>> fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                           AlignedBuffer& scratch) const override {
    CKPT_TRY(check_range(offset_bytes, size_bytes));
    if (size_bytes < kMinDirectBytes) {
      return ByteSource::fetch(offset_bytes, size_bytes, scratch);
    }
    CKPT_ASSIGN(const OpenOnDemand::Lease file, files_.use());
    if (!file->direct.is_open() || (in_page_cache(file->plain, offset_bytes) &&
                                    in_page_cache(file->plain, offset_bytes + size_bytes - 1))) {
      return ByteSource::fetch(offset_bytes, size_bytes, scratch);
    }
    const uint64_t first = offset_bytes / kPageBytes * kPageBytes;
    const uint64_t span_bytes = round_up(offset_bytes + size_bytes - first, kPageBytes);
    std::byte* memory = scratch.reserve(span_bytes);
    if (!read_direct(file->direct, first, memory, span_bytes)) {
      return ByteSource::fetch(offset_bytes, size_bytes, scratch);
    }
    return std::span<const std::byte>(memory + (offset_bytes - first), size_bytes);
  }

  uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& name() const override { return path_; }
  const FileState* file_state() const override { return &state_; }
  bool reads_in_place() const override { return false; }  // fetch() can read pages directly

 private:
  // If the file system refuses direct I/O, everything is read through the page cache.
  OpenOnDemand::OpenedFile with_direct(Descriptor plain) const {
    Descriptor direct;
    if (size_bytes_ >= kMinDirectBytes) direct = open_direct(plain, O_RDONLY);
    return {std::move(plain), std::move(direct)};
  }
  Result<OpenOnDemand::OpenedFile> open_again() const {
    CKPT_ASSIGN(Descriptor file, open_for_reading(path_));
    CKPT_TRY(in(path_, check_same_file(file, status_)));
    return with_direct(std::move(file));
  }

  bool in_page_cache(const Descriptor& file, uint64_t offset_bytes) const {
    std::byte probe[64];
    const iovec target{probe, std::min<uint64_t>(sizeof probe, size_bytes_ - offset_bytes)};
    return ::preadv2(file.get(), &target, 1, static_cast<off_t>(offset_bytes), RWF_NOWAIT) > 0;
  }

  // Reads entire pages into aligned memory. Returns false if the device cannot; the caller then
  // reads through the page cache, where errors are reported.
  bool read_direct(const Descriptor& file, uint64_t offset_bytes, std::byte* out,
                   uint64_t size_bytes) const {
    const uint64_t end = std::min(offset_bytes + size_bytes, size_bytes_);
    while (offset_bytes < end) {
      const ssize_t got = ::pread(file.get(), out, round_up(end - offset_bytes, kPageBytes),
                                  static_cast<off_t>(offset_bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      offset_bytes += static_cast<uint64_t>(got);
      out += got;
      if (offset_bytes < end && offset_bytes % kPageBytes != 0) return false;
    }
    return true;
  }

  std::string path_;
  struct stat status_;
  FileState state_;
  uint64_t size_bytes_;
  mutable OpenOnDemand files_;
};

class Blob final : public ByteSource {
 public:
  Blob(std::string name, std::vector<std::byte> bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    CKPT_TRY(check_range(offset_bytes, out.size()));
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset_bytes, out.size());
    return {};
  }
  uint64_t size_bytes() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  std::span<const std::byte> memory() const override { return bytes_; }
  Result<std::span<const std::byte>> fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                           AlignedBuffer&) const override {
    CKPT_TRY(check_range(offset_bytes, size_bytes));
    return std::span(bytes_).subspan(offset_bytes, size_bytes);
  }

 private:
  std::string name_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Status ByteSource::check_range(uint64_t offset_bytes, uint64_t wanted_bytes) const {
  if (offset_bytes <= size_bytes() && wanted_bytes <= size_bytes() - offset_bytes) return {};
  return in(name(), Status(corrupt("bytes {} to {} lie past the end ({} bytes)", offset_bytes,
                                   offset_bytes + wanted_bytes, size_bytes())));
}

Result<std::span<const std::byte>> ByteSource::fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                                     AlignedBuffer& scratch) const {
  CKPT_TRY(check_range(offset_bytes, size_bytes));
  const std::span<std::byte> out{scratch.reserve(size_bytes), size_bytes};
  CKPT_TRY(read(offset_bytes, out));
  return std::span<const std::byte>(out);
}

Result<SharedSource> open_file(const std::filesystem::path& path, ReadAs what) {
  if (is_url(path)) return url_files().open(path.string());
  CKPT_ASSIGN(Descriptor file, open_for_reading(path));
  return open_file(std::move(file), path, what);
}

Result<SharedSource> open_file(Descriptor descriptor, const std::filesystem::path& path,
                               ReadAs what) {
  auto found = what == ReadAs::kInput ? note_opened(descriptor, path) : status_of(descriptor);
  CKPT_ASSIGN(const struct stat status, in(path.string(), std::move(found)));
  if (!S_ISREG(status.st_mode)) {
    return misuse("{}: not a regular file; expected a file", path.string());
  }
  return SharedSource(std::make_shared<File>(path.string(), std::move(descriptor), status));
}

Slice entire(const SharedSource& source) { return {source, 0, source->size_bytes()}; }

SharedSource make_blob(std::string name, std::vector<std::byte> bytes) {
  return std::make_shared<Blob>(std::move(name), std::move(bytes));
}

Result<std::string> read_text(const ByteSource& source, uint64_t limit_bytes) {
  if (source.size_bytes() > limit_bytes) {
    return unsupported("{}: {} bytes; at most {} are read", source.name(), source.size_bytes(),
                       limit_bytes);
  }
  std::string text(source.size_bytes(), '\0');
  CKPT_TRY(source.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Result<std::string> read_small(const std::filesystem::path& path, uint64_t limit_bytes) {
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  return read_text(*source, limit_bytes);
}

}  // namespace ckpt
