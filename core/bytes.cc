#include "core/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ckpt {
namespace {

std::string errno_text() { return std::strerror(errno); }

Failure range_error(uint64_t offset_bytes, uint64_t length_bytes, uint64_t size_bytes) {
  return fail(ErrorCode::kCorrupt, "bytes {} to {} lie past the end ({} bytes)", offset_bytes,
              offset_bytes + length_bytes, size_bytes);
}

bool passes_end(uint64_t offset_bytes, uint64_t length_bytes, uint64_t size_bytes) {
  return offset_bytes > size_bytes || length_bytes > size_bytes - offset_bytes;
}

class File final : public ByteSource {
 public:
  File(std::string path, int descriptor, uint64_t size_bytes)
      : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() override { ::close(descriptor_); }

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    if (passes_end(offset_bytes, out.size(), size_bytes_)) {
      return in(path_, Status(range_error(offset_bytes, out.size(), size_bytes_)));
    }
    while (!out.empty()) {
      const ssize_t got =
          ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset_bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return in(path_, Status(fail(ErrorCode::kIo, "cannot read {} bytes at {}: {}", out.size(),
                                     offset_bytes, errno_text())));
      }
      if (got == 0) {
        return in(path_, Status(fail(ErrorCode::kCorrupt,
                                     "ends at byte {}; it had {} bytes when it was opened",
                                     offset_bytes, size_bytes_)));
      }
      out = out.subspan(static_cast<size_t>(got));
      offset_bytes += static_cast<uint64_t>(got);
    }
    return {};
  }
  uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& name() const override { return path_; }
  std::optional<Identity> identity() const override {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return std::nullopt;
    return Identity{status.st_dev, status.st_ino};
  }

 private:
  std::string path_;
  int descriptor_;
  uint64_t size_bytes_;
};

class Blob final : public ByteSource {
 public:
  Blob(std::string name, std::vector<std::byte> bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    if (passes_end(offset_bytes, out.size(), bytes_.size())) {
      return in(name_, Status(range_error(offset_bytes, out.size(), bytes_.size())));
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset_bytes, out.size());
    return {};
  }
  uint64_t size_bytes() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  std::span<const std::byte> memory() const override { return bytes_; }
  Result<std::span<const std::byte>> fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                           AlignedBuffer&) const override {
    if (passes_end(offset_bytes, size_bytes, bytes_.size())) {
      return in(name_, Result<std::span<const std::byte>>(
                           range_error(offset_bytes, size_bytes, bytes_.size())));
    }
    return std::span(bytes_).subspan(offset_bytes, size_bytes);
  }

 private:
  std::string name_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Result<std::span<const std::byte>> ByteSource::fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                                     AlignedBuffer& scratch) const {
  if (passes_end(offset_bytes, size_bytes, this->size_bytes())) {
    return in(name(), Result<std::span<const std::byte>>(
                          range_error(offset_bytes, size_bytes, this->size_bytes())));
  }
  const std::span<std::byte> out{scratch.reserve(size_bytes), size_bytes};
  CKPT_TRY(read(offset_bytes, out));
  return std::span<const std::byte>(out);
}

Result<SharedSource> open_file(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe in a model folder must not make us wait for its writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return fail(ErrorCode::kIo, "{}: cannot be opened: {}", path.string(), errno_text());
  }
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    const std::string reason = known ? "not a regular file" : errno_text();
    ::close(descriptor);
    return fail(ErrorCode::kUsage, "{}: {}; expected a file", path.string(), reason);
  }
  return SharedSource(
      std::make_shared<File>(path.string(), descriptor, static_cast<uint64_t>(status.st_size)));
}

SharedSource make_blob(std::string name, std::vector<std::byte> bytes) {
  return std::make_shared<Blob>(std::move(name), std::move(bytes));
}

Result<std::string> read_text(const ByteSource& source, uint64_t limit_bytes) {
  if (source.size_bytes() > limit_bytes) {
    return fail(ErrorCode::kUnsupported, "{}: {} bytes; at most {} are read", source.name(),
                source.size_bytes(), limit_bytes);
  }
  std::string text(source.size_bytes(), '\0');
  CKPT_TRY(source.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace ckpt
