#include "plan/publish_to/upload_note.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "core/base/sha256.h"
#include "remote/remote.h"

namespace ckpt {
namespace {

constexpr size_t kMaxSessionBytes = 8 << 10;

}  // namespace

UploadNote::UploadNote(const std::string& upload) {
  const std::string cache = cache_home();
  if (cache.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(cache) / "ckpt" / "uploads";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  path_ = folder / sha256_of(upload);
  // Only the owner may read the file, because the URL of a session may grant access to it.
  Descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return;
  // A file of another user could name that user's server.
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) file_ = std::move(file);
}

std::string UploadNote::session() const {
  std::array<char, kMaxSessionBytes> text;
  const ssize_t got = file_.is_open() ? ::pread(file_.get(), text.data(), text.size(), 0) : 0;
  const std::string out(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  // A run that was killed in keep() leaves no newline.
  return out.ends_with('\n') ? out.substr(0, out.size() - 1) : "";
}

void UploadNote::keep(const std::string& session) const {
  if (!file_.is_open() || ::ftruncate(file_.get(), 0) != 0) return;
  const std::string line = session + "\n";
  const ssize_t written = ::pwrite(file_.get(), line.data(), line.size(), 0);
  (void)written;  // an incomplete line is ignored
}

void UploadNote::remove() {
  if (!file_.is_open()) return;
  keep("");  // for a run that has the file open already
  (void)::unlink(path_.c_str());
  file_ = {};
}

}  // namespace ckpt
