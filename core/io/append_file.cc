#include "core/io/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/io/folder.h"
#include "core/io/open_folder.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

Failure append_failure(const fs::path& path, uint64_t written_bytes, int error) {
  return write_failure(path, error, fmt::format("{} bytes of the file are written", written_bytes));
}

// No other program's, and no other command's: what has this name is removed.
fs::path temporary_of(const fs::path& path) {
  return parent_of(path) / fmt::format(".ckpt-{}.partial", path.filename().string());
}

}  // namespace

AppendFile::AppendFile(fs::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_published_(std::exchange(other.is_published_, true)),
      size_bytes_(other.size_bytes_),
      sha256_(std::move(other.sha256_)) {}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!is_published_) ::unlink(temporary().c_str());
}

fs::path AppendFile::temporary() const { return temporary_of(path_); }

Result<AppendFile> AppendFile::create(const fs::path& path, bool force) {
  CKPT_TRY(check_parent(path));
  std::error_code error;
  const fs::file_status found = fs::symlink_status(path, error);
  if (fs::exists(found) && found.type() != fs::file_type::regular) {
    return fail_with_hint(ErrorCode::kUsage, "another name",
                          "{}: exists and is not a separate file; expected a new file",
                          path.string());
  }
  if (fs::exists(found) && !force) {
    return fail_with_hint(ErrorCode::kUsage, "--force to replace it, or another name",
                          "{}: exists already; expected a new file", path.string());
  }
  const fs::path temporary = temporary_of(path);
  CKPT_TRY(require_ours(temporary, Guard::kOwner));
  ::unlink(temporary.c_str());  // of an earlier run that was killed
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = retried([&] { return ::open(temporary.c_str(), flags, 0600); });
  if (descriptor < 0) return append_failure(path, 0, errno);
  return AppendFile(path, descriptor);
}

Status AppendFile::add(std::span<const std::byte> bytes) {
  sha256_.add(bytes);
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return append_failure(path_, size_bytes_, count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(count));
    size_bytes_ += static_cast<uint64_t>(count);
  }
  return {};
}

Result<std::string> AppendFile::publish() {
  CKPT_ASSIGN(const OpenFolder parent, OpenFolder::open(parent_of(path_)));
  const std::string name = temporary().filename().string();
  CKPT_TRY(parent.publish_mode(name));
  CKPT_TRY(parent.publish_owner(name, parent));
  if (retried([&] { return ::fsync(descriptor_); }) != 0) {
    return append_failure(path_, size_bytes_, errno);
  }
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
    return append_failure(path_, size_bytes_, errno);
  }
  if (::rename(temporary().c_str(), path_.c_str()) != 0) {
    return io_failure(path_, "cannot take its final name", errno);
  }
  is_published_ = true;
  CKPT_TRY(in(path_.string(), parent.sync()));
  return sha256_.finish();
}

}  // namespace ckpt
