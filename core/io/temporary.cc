#include "core/io/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <optional>

#include "core/io/paths.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr int kAsFolder = O_RDONLY | O_DIRECTORY;

Result<bool> leads_to(const fs::path& path, int descriptor) {
  struct stat held{}, found{};
  if (::fstat(descriptor, &held) != 0) return io_failure(path, "cannot be examined", errno);
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return io_failure(path, "cannot be examined", errno);
  }
  return held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

// Removes an empty folder first, which needs no descriptor, as none may be free.
void remove_everything(const fs::path& path, std::error_code& error) {
  fs::remove(path, error);
  if (error) fs::remove_all(path, error);
}

Status remove_left(const OpenFolder& parent, const fs::path& path, bool is_folder) {
  if (!is_folder) return parent.remove(path.filename().string());
  std::error_code error;
  remove_everything(path, error);
  if (error) return io_failure(path, "cannot be removed", error.value());
  return {};
}

}  // namespace

Failure in_use_failure(const fs::path& path) {
  return misuse_hint("again when it is done", "{}: another ckpt is at work on this output just now",
                     path.string());
}

Result<bool> lock_for_run(int descriptor, const fs::path& path) {
  if (retried([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) return false;
    // Some network file systems have no locks; users must then avoid parallel runs themselves.
    const bool no_locks = errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP;
    if (!no_locks) return io_failure(path, "cannot be locked", errno);
  }
  return leads_to(path, descriptor);
}

Status refuse_at_work(const fs::path& path) {
  CKPT_ASSIGN(const OpenFolder parent, OpenFolder::open(parent_of(path)));
  CKPT_ASSIGN(const std::optional<Descriptor> left,
              parent.find_file(path.filename().string(), O_RDONLY | O_NONBLOCK));
  if (!left) return {};
  CKPT_ASSIGN(const bool is_free, lock_for_run(left->get(), path));
  return is_free ? Status() : Status(in_use_failure(path));
}

Result<LockedTemporary> LockedTemporary::make(const fs::path& path, const Check& check,
                                              bool is_folder) {
  CKPT_ASSIGN(OpenFolder parent, OpenFolder::open(parent_of(path)));
  const std::string name = path.filename().string();
  // From here on, a file that appears under this name is another run's.
  CKPT_ASSIGN(const bool was_there, parent.has(name));
  CKPT_ASSIGN(const std::optional<Descriptor> left,
              parent.find_file(name, is_folder ? kAsFolder : O_RDWR | O_NONBLOCK));
  if (left) {
    CKPT_ASSIGN(const bool is_left, lock_for_run(left->get(), path));
    if (!is_left) return in_use_failure(path);
  }
  if (check) CKPT_TRY(check());
  if (left || was_there) CKPT_TRY(remove_left(parent, path, is_folder));
  CKPT_ASSIGN(std::optional<Descriptor> made,
              parent.make_new(name, is_folder ? kAsFolder : O_WRONLY));
  if (!made) return in_use_failure(path);
  LockedTemporary out(path, std::move(parent), std::move(*made));
  CKPT_ASSIGN(const bool is_own, lock_for_run(out.descriptor(), path));
  if (is_own) return out;
  out.keep();
  return in_use_failure(path);
}

Result<LockedTemporary> LockedTemporary::file(const fs::path& path, const Check& check) {
  return make(path, check, false);
}

Result<LockedTemporary> LockedTemporary::folder(const fs::path& path, const Check& check) {
  return make(path, check, true);
}

LockedTemporary::~LockedTemporary() {
  std::error_code ignored;
  if (descriptor_.is_open() && require_own()) remove_everything(path_, ignored);
}

Status LockedTemporary::require_own() const {
  CKPT_ASSIGN(const bool is_own, leads_to(path_, descriptor_.get()));
  return is_own ? Status() : Status(in_use_failure(path_));
}

Status LockedTemporary::publish(const std::string& to, bool may_replace) const {
  CKPT_TRY(require_own());
  return parent_.rename(name(), to, may_replace);
}

}  // namespace ckpt
