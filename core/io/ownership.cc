#include "core/io/ownership.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/printable.h"
#include "core/io/descriptor.h"
#include "core/io/paths.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr const char* kAcl = "system.posix_acl_access";

// The status of a new file that this program makes in `folder`; nullopt if it cannot.
std::optional<struct stat> new_file_in(const fs::path& folder) {
  const fs::path path = folder / fmt::format(".ckpt-owner-{}", ::getpid());
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor made(retried([&] { return ::open(path.c_str(), flags, 0600); }));
  if (!made.is_open()) return std::nullopt;
  struct stat status {};
  const bool known = ::fstat(made.get(), &status) == 0;
  ::unlink(path.c_str());
  return known ? std::optional(status) : std::nullopt;
}

bool is_kept(std::string_view attribute) {
  // Attributes that are bound to a file's content, or to what it may do.
  constexpr std::string_view kOfContent[] = {"security.capability", "security.ima", "security.evm"};
  for (const std::string_view name : kOfContent) {
    if (attribute == name) return false;
  }
  return !attribute.starts_with("user.ckpt.");
}

void keep_extended_attributes(int old, int descriptor) {
  const ssize_t list_bytes = ::flistxattr(old, nullptr, 0);
  if (list_bytes <= 0) return;
  std::string names(static_cast<size_t>(list_bytes), '\0');
  const ssize_t got = ::flistxattr(old, names.data(), names.size());
  names.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::vector<char> value;
  for (size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    const char* name = names.c_str() + at;
    const ssize_t size = is_kept(name) ? ::fgetxattr(old, name, nullptr, 0) : -1;
    if (size < 0) continue;
    value.resize(static_cast<size_t>(size));
    const ssize_t read = ::fgetxattr(old, name, value.data(), value.size());
    if (read >= 0) {
      (void)!::fsetxattr(descriptor, name, value.data(), static_cast<size_t>(read), 0);
    }
  }
}

}  // namespace

bool is_ours(const fs::path& path, const struct stat& status, Guard guard) {
  // A link's mode has no meaning, as nobody can write to a link.
  const bool is_link = S_ISLNK(status.st_mode);
  const mode_t lax = guard == Guard::kOwner || is_link ? 0 : status.st_mode & kOthersWrite;
  if (status.st_uid == ::geteuid() && lax == 0) return true;
  const auto made = new_file_in(parent_of(path));
  return made && status.st_uid == made->st_uid && (lax & ~made->st_mode) == 0;
}

Status require_ours(const fs::path& path, const struct stat& status, Guard guard) {
  if (is_ours(path, status, guard)) return {};
  if (!is_ours(path, status, Guard::kOwner)) {
    return misuse_hint({"another OUT, in a folder that only you may write to", Remedy::kOtherOut},
                       "{}: belongs to user {}; expected what a run of this user ({}) has left",
                       path.string(), status.st_uid, ::geteuid());
  }
  return misuse_hint({fmt::format("rm -r {}", shell_path(path.string())), Remedy::kRemoval},
                     "{}: writable by others (mode {:o}); expected writable by this user alone",
                     path.string(), status.st_mode & 07777);
}

Status require_ours(const fs::path& path, Guard guard) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return require_ours(path, status, guard);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return io_failure(path, "cannot be examined", errno);
}

void give_new_mode(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return;
  const bool is_folder = S_ISDIR(status.st_mode);
  if (!is_folder && status.st_nlink > 1) return;
  // A folder's higher bits come from its parent, where new files keep a group.
  const mode_t kept = is_folder ? status.st_mode & 07000 : 0;
  (void)!::fchmod(descriptor, kept | ((is_folder ? 0777 : 0666) & ~mask_of_process()));
}

void give_owner_of(int parent, int descriptor) {
  struct stat own {
  }, above{};
  if (::geteuid() != 0 || ::fstat(descriptor, &own) != 0 || ::fstat(parent, &above) != 0) return;
  if (!S_ISDIR(own.st_mode) && own.st_nlink > 1) return;
  if (own.st_uid == above.st_uid && own.st_gid == above.st_gid) return;
  (void)!::fchown(descriptor, above.st_uid, above.st_gid);
}

void keep_attributes(int old, int descriptor) {
  struct stat was {
  }, is{};
  if (::fstat(old, &was) != 0) return;
  constexpr auto kSameOwner = static_cast<uid_t>(-1);
  if (::fchown(descriptor, was.st_uid, was.st_gid) != 0) {
    (void)!::fchown(descriptor, kSameOwner, was.st_gid);
  }
  mode_t mode = was.st_mode & 0777;
  const bool has_group = ::fstat(descriptor, &is) == 0 && is.st_gid == was.st_gid;
  if (!has_group) mode &= 0707 | (mode & 07) << 3;
  ::fremovexattr(descriptor, kAcl);  // inherited from the folder where it was made
  (void)!::fchmod(descriptor, mode);
  if (has_group) keep_extended_attributes(old, descriptor);
}

}  // namespace ckpt
