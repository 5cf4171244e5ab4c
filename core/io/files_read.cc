#include "core/io/files_read.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/threads.h"
#include "core/io/remote_files.h"

namespace ckpt {
namespace {

// Longer than a tick of the clock from which the system takes file times.
constexpr int64_t kTickNs = 20'000'000;
constexpr int kMostTicks = 50;  // limit for a file that is written all the time

int64_t now_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// Waits until the last write is older than a tick, and returns the file's status.
Result<struct stat> settled_status(const Descriptor& file) {
  for (int i = 0;; ++i) {
    CKPT_ASSIGN(const struct stat status, status_of(file));
    const int64_t age_ns = now_ns() - state_of(status).modified_ns;
    if (!S_ISREG(status.st_mode) || age_ns < 0 || age_ns >= kTickNs || i == kMostTicks) {
      return status;
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(kTickNs - age_ns));
  }
}

FilesRead* of_thread() { return static_cast<FilesRead*>(inherited_pointer()); }

Failure changed(const std::filesystem::path& path, std::string what) {
  return Failure(Error{ErrorCode::kCorrupt, path.string(), std::move(what) + " while it was read",
                       "again when nobody writes to it"});
}

}  // namespace

FileState state_of(const struct stat& status) {
  const auto ns = [](const struct timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = static_cast<uint64_t>(status.st_size),
          .modified_ns = ns(status.st_mtim),
          .changed_ns = ns(status.st_ctim)};
}

Result<struct stat> status_of(const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) == 0) return status;
  return fail(ErrorCode::kIo, "{}", std::strerror(errno));
}

// Opens the file instead of only calling stat, so that a network file system asks its server.
Status check_unchanged(const std::filesystem::path& path, const FileState& before) {
  if (is_url(path)) return {};  // each answer was compared with the first one
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  const Descriptor file(retried([&] { return ::open(path.c_str(), kFlags); }));
  const int error = errno;
  if (!file.is_open() && error == ENOENT) return changed(path, "was removed");
  if (!file.is_open()) {
    return fail(ErrorCode::kIo, "{}: cannot be opened again: {}", path.string(),
                std::strerror(error));
  }
  CKPT_ASSIGN(const struct stat status, in(path.string(), status_of(file)));
  const FileState now = state_of(status);
  if (now == before) return {};
  if (now.device != before.device || now.inode != before.inode) {
    return changed(path, "became another file");
  }
  if (now.size_bytes == before.size_bytes) return changed(path, "was written to");
  return changed(path, fmt::format("went from {} to {} bytes", before.size_bytes, now.size_bytes));
}

FilesRead::FilesRead() : outer_(of_thread()) { inherited_pointer() = this; }

FilesRead::~FilesRead() { inherited_pointer() = outer_; }

Status check_files_read() {
  std::set<std::pair<std::string, FileState>> files;
  for (FilesRead* each = of_thread(); each != nullptr; each = each->outer_) {
    const std::lock_guard lock(each->mutex_);
    files.insert(each->files_.begin(), each->files_.end());
  }
  for (const auto& [path, state] : files) CKPT_TRY(check_unchanged(path, state));
  return {};
}

Result<struct stat> note_opened(const Descriptor& file, const std::filesystem::path& path) {
  FilesRead* const innermost = of_thread();
  if (innermost == nullptr) return in(path.string(), status_of(file));
  CKPT_ASSIGN(const struct stat status, in(path.string(), settled_status(file)));
  for (FilesRead* each = innermost; each != nullptr; each = each->outer_) {
    const std::lock_guard lock(each->mutex_);
    each->files_.emplace(path.string(), state_of(status));
  }
  return status;
}

}  // namespace ckpt
