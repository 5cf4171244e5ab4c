#include "core/io/open_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/io/paths.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kLookFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
constexpr mode_t kNewFileMode = 0600;

int open_by_kernel(int folder, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags));
  how.mode = (flags & O_CREAT) != 0 ? kNewFileMode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(
      retried([&] { return ::syscall(SYS_openat2, folder, name, &how, sizeof how); }));
}

}  // namespace

bool stays_inside(const std::string& path) {
  const std::filesystem::path relative(path);
  bool sound = !path.empty() && !relative.is_absolute() && relative.has_filename();
  for (const auto& step : relative) sound = sound && step != ".." && step != ".";
  return sound && path.find('\0') == path.npos;
}

Status OpenFolder::require_inside(const std::string& name) const {
  if (stays_inside(name)) return {};
  return corrupt("file name '{}' leaves the folder {}", name, path_.string());
}

Failure OpenFolder::failure(const std::string& name, const char* doing, int error) const {
  std::error_code ignored;
  const fs::path folder = path_ == "." ? fs::absolute(path_, ignored).parent_path() : path_;
  const std::string shown = name.empty() ? folder.string() : (path_ / name).string();
  // A component is a link or was just replaced by one. Renaming also returns EXDEV: across disks,
  // and for folders in a lower layer of an overlay.
  const bool is_opened = std::string_view(doing) == "cannot be opened";
  if (error == ELOOP || (error == EXDEV && is_opened)) {
    return corrupt("{}: a link is in the way; links are not followed", shown);
  }
  const bool is_denied = error == EACCES || error == EROFS || error == EPERM;
  const Hint elsewhere("another OUT, in a folder that you may write to", Remedy::kOtherOut);
  const Hint hint = is_denied         ? denied_hint(shown, error, elsewhere)
                    : error == EMFILE ? "ulimit -n 4096"
                                      : "";
  return fail_with_hint(ErrorCode::kIo, hint, "{}: {}: {}", shown, doing, std::strerror(error));
}

Result<OpenFolder> OpenFolder::open(const fs::path& path, bool is_ours, Resolver resolver) {
  const fs::path name = path.empty() ? fs::path(".") : path;
  const int flags = kFolderFlags | (is_ours ? O_NOFOLLOW : 0);
  Descriptor descriptor(retried([&] { return ::open(name.c_str(), flags); }));
  if (descriptor.is_open()) return OpenFolder(name, std::move(descriptor), resolver);
  return OpenFolder(name, {}, resolver).failure({}, "cannot be opened", errno);
}

// Returns a descriptor, or -1 and sets errno.
int OpenFolder::resolve_by_steps(const std::string& name, int flags) const {
  Descriptor above;
  int from = descriptor_.get();
  const fs::path relative(name);
  for (auto step = relative.begin(); step != relative.end(); ++step) {
    const bool is_last = std::next(step) == relative.end();
    const int how = (is_last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC) | O_NOFOLLOW;
    Descriptor next(retried([&] { return ::openat(from, step->c_str(), how, kNewFileMode); }));
    if (!next.is_open()) {
      struct stat status {};
      const bool is_link = errno == ENOTDIR &&
                           ::fstatat(from, step->c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                           S_ISLNK(status.st_mode);
      if (is_link) errno = ELOOP;
      return -1;
    }
    above = std::move(next);
    from = above.get();
  }
  return above.release();
}

// Returns a descriptor, or -1 and sets errno.
int OpenFolder::try_to_open(const std::string& name, int flags) const {
  int number = -1;
  bool by_steps = resolver_ == Resolver::kSteps;
  if (!by_steps) {
    number = open_by_kernel(descriptor_.get(), name.c_str(), flags);
    // Old kernels lack the call, and sandboxes reject calls that they do not know.
    by_steps = number < 0 && (errno == ENOSYS || errno == EPERM);
  }
  return by_steps ? resolve_by_steps(name, flags) : number;
}

Result<Descriptor> OpenFolder::resolve(const std::string& name, int flags) const {
  CKPT_TRY(require_inside(name));
  const int number = try_to_open(name, flags);
  if (number >= 0) return Descriptor(number);
  return failure(name, "cannot be opened", errno);
}

Result<Descriptor> OpenFolder::open_file(const std::string& name, int flags) const {
  CKPT_ASSIGN(Descriptor file, resolve(name, flags | O_CLOEXEC));
  if ((flags & O_CREAT) == 0 || (flags & O_EXCL) != 0) return file;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(name, "cannot be examined", errno);
  CKPT_TRY(require_ours(path_ / name, status, Guard::kOwnerAndMode));
  return file;
}

Result<std::optional<Descriptor>> OpenFolder::find_file(const std::string& name, int flags) const {
  CKPT_TRY(require_inside(name));
  const int number = try_to_open(name, flags | O_CLOEXEC);
  if (number >= 0) return std::optional(Descriptor(number));
  constexpr int kNothingThere[] = {ENOENT, ENOTDIR, EISDIR, ELOOP, EXDEV,
                                   ENXIO,  ENODEV,  EACCES, EPERM, EROFS};
  if (std::ranges::count(kNothingThere, errno) > 0) return std::optional<Descriptor>();
  return failure(name, "cannot be opened", errno);
}

Result<std::optional<Descriptor>> OpenFolder::make_new(const std::string& name, int flags) const {
  CKPT_TRY(require_inside(name));
  if ((flags & O_DIRECTORY) != 0) return make_private(name);
  const int number = try_to_open(name, flags | O_CREAT | O_EXCL | O_CLOEXEC);
  if (number >= 0) return std::optional(Descriptor(number));
  if (errno == EEXIST) return std::optional<Descriptor>();
  return failure(name, "cannot be opened", errno);
}

Result<OpenFolder::Place> OpenFolder::place_of(const std::string& name) const {
  CKPT_TRY(require_inside(name));
  const fs::path relative(name);
  const std::string above = relative.parent_path().string();
  if (above.empty()) return Place{{}, descriptor_.get(), relative.filename().string()};
  CKPT_ASSIGN(Descriptor folder, resolve(above, kFolderFlags));
  const int number = folder.get();
  return Place{std::move(folder), number, relative.filename().string()};
}

Status OpenFolder::make_folder(const std::string& name) const {
  CKPT_TRY(require_inside(name));
  const std::string above = fs::path(name).parent_path().string();
  if (!above.empty()) CKPT_TRY(make_folder(above));
  CKPT_ASSIGN(const Place place, place_of(name));
  CKPT_ASSIGN(const bool is_made, make_here(place, name, 0777));
  if (is_made) return publish_owner(name, *this);
  return resolve(name, kFolderFlags).map([](const Descriptor&) {});
}

// Returns false if the name is taken. A folder that the umask makes inaccessible to its own user
// would stay: without access the user can neither remove nor find anything in it.
Result<bool> OpenFolder::make_here(const Place& place, const std::string& name, mode_t mode) const {
  if (::mkdirat(place.folder, place.last.c_str(), mode) != 0) {
    if (errno == EEXIST) return false;
    return failure(name, "cannot be made", errno);
  }
  const int use = R_OK | W_OK | X_OK;
  if (::faccessat(place.folder, place.last.c_str(), use, AT_EACCESS) == 0 || errno != EACCES) {
    return true;
  }
  Failure closed = failure(name, "cannot be opened", EACCES);
  ::unlinkat(place.folder, place.last.c_str(), AT_REMOVEDIR);
  return closed;
}

Result<Descriptor> OpenFolder::open_own_folder(const std::string& name) const {
  CKPT_ASSIGN(Descriptor folder, resolve(name, kFolderFlags));
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return failure(name, "cannot be examined", errno);
  CKPT_TRY(require_ours(path_ / name, status, Guard::kOwnerAndMode));
  return folder;
}

Result<std::optional<Descriptor>> OpenFolder::make_private(const std::string& name) const {
  CKPT_ASSIGN(const Place place, place_of(name));
  CKPT_ASSIGN(const bool is_made, make_here(place, name, 0700));
  if (!is_made) return std::optional<Descriptor>();
  auto folder = open_own_folder(name);
  if (folder) return std::optional(std::move(*folder));
  ::unlinkat(place.folder, place.last.c_str(), AT_REMOVEDIR);
  return Failure(std::move(folder.error()));
}

Result<OpenFolder> OpenFolder::open_private(const std::string& name) const {
  CKPT_ASSIGN(std::optional<Descriptor> folder, make_private(name));
  if (!folder) {
    // Check by name first, because another user's folder may refuse to be opened.
    CKPT_TRY(require_ours(path_ / name, Guard::kOwnerAndMode));
    CKPT_ASSIGN(folder, open_own_folder(name));
  }
  return OpenFolder(path_ / name, std::move(*folder), resolver_);
}

Result<Descriptor> OpenFolder::look(const std::string& name) const {
  if (!name.empty()) return resolve(name, kLookFlags);
  Descriptor same(::fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, 0));
  if (same.is_open()) return same;
  return failure(name, "cannot be opened", errno);
}

Status OpenFolder::publish_mode(const std::string& name) const {
  CKPT_ASSIGN(const Descriptor file, look(name));
  give_new_mode(file.get());
  return {};
}

Status OpenFolder::publish_owner(const std::string& name, const OpenFolder& like) const {
  CKPT_ASSIGN(const Descriptor file, look(name));
  give_owner_of(like.descriptor_.get(), file.get());
  return {};
}

Status OpenFolder::give_attributes(const std::string& name, const std::string& to) const {
  CKPT_ASSIGN(const Place place, place_of(name));
  struct stat status {};
  const bool is_there =
      ::fstatat(place.folder, place.last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there && errno != ENOENT) return failure(name, "cannot be examined", errno);
  CKPT_ASSIGN(const Descriptor file, look(to));
  if (is_there && S_ISREG(status.st_mode)) {
    CKPT_ASSIGN(const Descriptor old, look(name));
    keep_attributes(old.get(), file.get());
    return {};
  }
  give_new_mode(file.get());
  give_owner_of(place.folder, file.get());
  return {};
}

Status OpenFolder::rename(const std::string& from, const std::string& to, bool may_replace) const {
  CKPT_ASSIGN(const Place old_place, place_of(from));
  CKPT_ASSIGN(const Place new_place, place_of(to));
  const auto try_with = [&](unsigned flags) {
    return ::renameat2(old_place.folder, old_place.last.c_str(), new_place.folder,
                       new_place.last.c_str(), flags) == 0;
  };
  if (try_with(may_replace ? 0 : RENAME_NOREPLACE)) return {};
  if (!may_replace && errno == EEXIST) {
    return misuse_hint({"--force to replace it, or another OUT", Remedy::kForce},
                       "{}: exists already; expected a new OUT", (path_ / to).string());
  }
  // Some network file systems do not know the flag.
  if (!may_replace && (errno == EINVAL || errno == ENOSYS) && try_with(0)) return {};
  return failure(to, "cannot take its final name", errno);
}

Result<bool> OpenFolder::exchange(const std::string& a, const std::string& b) const {
  CKPT_ASSIGN(const Place one, place_of(a));
  CKPT_ASSIGN(const Place other, place_of(b));
  if (::renameat2(one.folder, one.last.c_str(), other.folder, other.last.c_str(),
                  RENAME_EXCHANGE) == 0) {
    return true;
  }
  if (errno == EINVAL || errno == ENOSYS || errno == EXDEV) return false;
  return failure(b, "cannot take its final name", errno);
}

Status OpenFolder::link(const Descriptor& file, const fs::path& from, const std::string& to) const {
  CKPT_ASSIGN(const Place place, place_of(to));
  const std::string source = "/proc/self/fd/" + std::to_string(file.get());
  if (::linkat(AT_FDCWD, source.c_str(), place.folder, place.last.c_str(), AT_SYMLINK_FOLLOW) ==
      0) {
    return {};
  }
  if (errno != EXDEV) return failure(to, "cannot be linked", errno);
  return misuse_hint("--link copy", "{}: lies on another disk than {}", (path_ / to).string(),
                     from.string());
}

Status OpenFolder::remove(const std::string& name) const {
  CKPT_ASSIGN(const Place place, place_of(name));
  if (::unlinkat(place.folder, place.last.c_str(), 0) == 0 || errno == ENOENT) return {};
  return failure(name, "cannot be removed", errno);
}

Result<bool> OpenFolder::has(const std::string& name) const {
  CKPT_ASSIGN(const Place place, place_of(name));
  struct stat status {};
  if (::fstatat(place.folder, place.last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return true;
  }
  if (errno == ENOENT) return false;
  return failure(name, "cannot be examined", errno);
}

Status OpenFolder::sync(const std::string& name) const {
  Descriptor below;
  if (!name.empty()) CKPT_SET(below, resolve(name, kFolderFlags));
  const int number = name.empty() ? descriptor_.get() : below.get();
  if (retried([&] { return ::fsync(number); }) == 0) return {};
  // Some file systems cannot sync a folder at all.
  if (errno == EINVAL || errno == ENOTSUP) return {};
  return failure(name, "cannot be synced", errno);
}

}  // namespace ckpt
