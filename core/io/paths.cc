#include "core/io/paths.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>

#include "core/base/counted.h"
#include "core/base/printable.h"
#include "core/io/remote_files.h"

namespace ckpt {
namespace fs = std::filesystem;

mode_t mask_of_process() {
  static const mode_t mask = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("Umask:")) continue;
      return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
    }
    return mode_t{022};
  }();
  return mask;
}

Hint denied_hint(const fs::path& path, int error, const Hint& hint) {
  const mode_t closed = mask_of_process() & S_IRWXU;
  if (error != EACCES || closed == 0) return hint;
  struct stat status {};
  fs::path denying = path;  // or the folder that would contain it
  while (::lstat(denying.c_str(), &status) != 0) {
    if (parent_of(denying) == denying) return hint;
    denying = parent_of(denying);
  }
  const bool is_of_umask = status.st_uid == ::geteuid() && (status.st_mode & closed) == 0;
  return is_of_umask ? Hint("umask 022, before the command") : hint;
}

Failure io_failure(const fs::path& path, const char* doing, int error, const Hint& hint_if_denied) {
  // Limits are reported elsewhere. This function only handles errors that name the operation.
  if (error == EDQUOT || error == EFBIG) return write_failure(path, error, doing);
  const bool is_denied = error == EACCES || error == EROFS || error == EPERM;
  const Hint hint = is_denied               ? denied_hint(path, error, hint_if_denied)
                    : error == EMFILE       ? "ulimit -n 4096"
                    : error == ENAMETOOLONG ? "a shorter name"
                                            : "";
  Failure out = fail_with_hint(ErrorCode::kIo, hint, "{}: {}: {}", path.string(), doing,
                               std::strerror(error));
  out.value().is_missing = error == ENOENT;
  return out;
}

namespace {

// The command that downloads a file again to which a link in the Hub's cache leads; else "":
//
//   models--ORG--NAME/snapshots/REVISION/config.json ─▶ ../../blobs/0f3a...
std::string download_again(const fs::path& path) {
  constexpr std::string_view kStart = "models--";
  const fs::path revision = fs::absolute(path).lexically_normal().parent_path();
  std::string name = revision.parent_path().parent_path().filename().string();
  const size_t cut = name.find("--", kStart.size());
  const bool is_snapshot = revision.parent_path().filename() == "snapshots";
  if (!is_snapshot || !name.starts_with(kStart) || cut == name.npos) return "";
  name.replace(cut, 2, "/");
  return fmt::format("hf download {} --revision {}", shell_path(name.substr(kStart.size())),
                     shell_path(revision.filename().string()));
}

}  // namespace

Failure open_failure(const fs::path& path, int error) {
  std::error_code ignored;
  if (error != ENOENT || !fs::is_symlink(path, ignored)) {
    return io_failure(path, "cannot be opened", error);
  }
  return fail_with_hint(ErrorCode::kIo, download_again(path),
                        "{}: a link to {}, which does not exist", path.string(),
                        fs::read_symlink(path, ignored).string());
}

Failure write_failure(const fs::path& path, int error, const std::string& size) {
  struct statvfs space {};
  if (error == ENOSPC && ::statvfs(parent_of(path).c_str(), &space) == 0) {
    return fail_with_hint(ErrorCode::kIo, "another place, or remove files from this disk",
                          "{}: the disk is full; {} and {} are free", path.string(), size,
                          human_bytes(static_cast<uint64_t>(space.f_bavail) * space.f_frsize));
  }
  if (error == EDQUOT) {
    return fail_with_hint(ErrorCode::kIo, "another place, or remove some of your files",
                          "{}: this user's disk quota is used up; {}", path.string(), size);
  }
  if (error == EFBIG) {
    struct rlimit limit {
      RLIM_INFINITY, RLIM_INFINITY
    };
    (void)!::getrlimit(RLIMIT_FSIZE, &limit);
    const bool is_limited = limit.rlim_cur != RLIM_INFINITY;
    return fail_with_hint(ErrorCode::kIo,
                          is_limited ? "ulimit -f unlimited, or smaller files" : "another place",
                          "{}: exceeds the file size limit ({}); {}", path.string(),
                          is_limited ? fmt::format("ulimit -f: {}", human_bytes(limit.rlim_cur))
                                     : "as the file system says",
                          size);
  }
  return io_failure(path, "cannot be written", error);
}

Status check_room(const fs::path& path, uint64_t size_bytes) {
  struct statvfs space {};
  if (::statvfs(parent_of(path).c_str(), &space) != 0 || space.f_blocks == 0) return {};
  if (size_bytes <= static_cast<uint64_t>(space.f_bavail) * space.f_frsize) return {};
  return write_failure(path, ENOSPC, fmt::format("it may need {}", human_bytes(size_bytes)));
}

Result<bool> is_there(const fs::path& path, Links links) {
  if (is_url(path)) return url_files().is_there(path.string());
  struct stat status {};
  const bool follows = links == Links::kFollow;
  if ((follows ? ::stat : ::lstat)(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return io_failure(path, "cannot be examined", errno);
}

std::filesystem::path real_place(const std::filesystem::path& path) {
  // weakly_canonical() keeps "new/a" relative if "new" does not exist, but resolves "./new/a".
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  const auto place = std::filesystem::weakly_canonical(whole, error);
  return error ? path : place;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

Status refuse_file_above(const fs::path& path) {
  for (fs::path above = parent_of(path), below = path; above != below; above = parent_of(below)) {
    struct stat status {};
    const bool exists = ::stat(above.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) return {};
    if (exists) {
      return misuse_hint("a path through folders", "{}: is a file, and {} would be inside it",
                         above.string(), path.string());
    }
    below = above;
  }
  return {};
}

Status check_parent(const fs::path& path) {
  CKPT_TRY(refuse_file_above(path));
  const fs::path parent = parent_of(path);
  struct stat status {};
  if (::stat(parent.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return {};
  } else if (errno != ENOENT && errno != ENOTDIR) {
    return io_failure(path, "its folder cannot be examined", errno);
  }
  return misuse_hint(fmt::format("mkdir -p {}", shell_path(parent.string())),
                     "{}: no such folder to write into", parent.string());
}

int denied_in(const fs::path& folder) {
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return 0;
  return errno == EACCES || errno == EPERM || errno == EROFS ? errno : 0;
}

bool is_folder(const fs::path& path) {
  if (is_url(path)) return url_files().is_folder(path.string()).value_or(false);
  static std::mutex mutex;
  static std::set<fs::path> known;
  struct stat status {};
  const bool is_seen = ::stat(path.c_str(), &status) == 0;
  const bool fails = !is_seen && errno != ENOENT && errno != ENOTDIR;
  const std::lock_guard lock(mutex);
  if (fails) return known.contains(path);
  const bool out = is_seen && S_ISDIR(status.st_mode);
  if (out) known.insert(path);
  return out;
}

}  // namespace ckpt
