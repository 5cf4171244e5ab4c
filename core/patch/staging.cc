// Checks the staging folder of a patch, which another user may have left or planted: its owner,
// mode and contents are checked before anything in it is used.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/io/folder.h"
#include "core/io/open_folder.h"
#include "core/patch/journal.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr const char* kElsewhere = "--out, with a folder that you may write to";

Failure staging_failure(const fs::path& path, const char* doing, int error) {
  return io_failure(path, doing, error, kElsewhere);
}

// Replaces hints at OUT, which a patch in place does not have.
Failure without_out(Error error) {
  if (error.remedy == Remedy::kOtherOut) error.hint = kElsewhere;
  return Failure(std::move(error));
}

// The command that finishes a decided patch of another user. --out would not help, because it reads
// a checkpoint that is between two states.
std::string as_user(uid_t user, const fs::path& target) {
  return fmt::format("sudo -u '#{}' ckpt patch {}", user, shell_path(target.string()));
}

// The owner of `path` if it is another user.
std::optional<uid_t> other_owner(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || is_ours(path, status, Guard::kOwner)) return {};
  return status.st_uid;
}

// Requires ownership of `target`'s staging folder, or of a file in it; one is useless without the
// other.
Status require_own(const fs::path& target, const fs::path& path) {
  const fs::path staging = staging_of(target);
  Status ours = require_ours(path, Guard::kOwnerAndMode);
  if (ours) return ours;
  const auto is_decided = is_there(journal_of(target));
  const auto other = other_owner(path);
  if (other && is_decided && *is_decided) {
    return misuse_hint(as_user(*other, target),
                       "{}: belongs to user {}, whose patch of {} was interrupted; only that user, "
                       "not this one ({}), can finish it",
                       path.string(), *other, target.string(), ::geteuid());
  }
  Error error = std::move(ours.error());
  if (error.remedy == Remedy::kRemoval) {
    const std::string where = shell_path(staging.string());
    error.hint = is_decided && *is_decided
                     ? fmt::format("chmod -R go-w {}, if nobody else wrote there", where)
                     : fmt::format("rm -r {}", where);
  }
  return without_out(std::move(error));
}

Result<std::string> identity_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return staging_failure(path, "cannot be examined", errno);
  return fmt::format("{} {}\n", status.st_ino, birth_ns(path));
}

// Whether a patch makes a file of this name in its staging folder: "journal", "files/0".
bool is_of_patch(std::string_view name) {
  if (name == "journal" || name == "journal.partial") return true;
  for (const std::string_view folder : {"files/", "files.partial/"}) {
    if (!name.starts_with(folder)) continue;
    const std::string_view number = name.substr(folder.size());
    return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

// Rejects foreign files, because the staging folder is finally removed. A journal stays where it
// can be finished.
Status refuse_strange_files(const fs::path& staging) {
  CKPT_ASSIGN(const std::vector<FolderEntry> entries, list_folder(staging, {}));
  CKPT_ASSIGN(const bool is_decided, is_there(staging / "journal"));
  for (const FolderEntry& entry : entries) {
    if (is_of_patch(entry.path)) continue;
    const fs::path strange = is_decided ? staging / entry.path : staging;
    return misuse_hint(fmt::format("mv {} elsewhere", shell_path(strange.string())),
                       "{}: already exists and was not left by an interrupted patch (it holds {})",
                       staging.string(), entry.path);
  }
  return {};
}

// Whether the folder is another user's and this user may not enter it.
bool is_hidden(const fs::path& staging) {
  struct stat status{};
  return ::lstat(staging.c_str(), &status) == 0 && status.st_uid != ::geteuid() &&
         ::faccessat(AT_FDCWD, staging.c_str(), X_OK, AT_EACCESS) != 0 && errno == EACCES;
}

}  // namespace

fs::path base_of(const fs::path& path) {
  if (is_folder(path)) return path;
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path staging_of(const fs::path& path) {
  if (is_folder(path)) return path / ".ckpt-patch";
  return base_of(path) / fmt::format(".{}.ckpt-patch", path.filename().string());
}

fs::path journal_of(const fs::path& path) { return staging_of(path) / "journal"; }

Result<Descriptor> lock_staging(const fs::path& path, bool make) {
  const fs::path staging = staging_of(path);
  CKPT_ASSIGN(const OpenFolder base, OpenFolder::open(base_of(path)));
  const std::string name = staging.filename().string();
  if (make) {
    auto made = base.open_private(name);
    if (!made) return without_out(std::move(made.error()));
  }
  CKPT_TRY(require_own(path, staging));
  auto opened = base.open_file(name, O_RDONLY | O_DIRECTORY);
  if (!opened) {
    std::error_code ignored;
    if (make) fs::remove(staging, ignored);  // if empty
    return Failure(std::move(opened.error()));
  }
  const Descriptor& lock = *opened;
  const bool locked = retried([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB); }) == 0;
  if (!locked && errno != EWOULDBLOCK) return staging_failure(staging, "cannot be locked", errno);
  // The previous holder may have removed it in between.
  struct stat held{}, found{};
  const bool is_known =
      ::fstat(lock.get(), &held) == 0 && (::lstat(staging.c_str(), &found) == 0 || errno == ENOENT);
  if (!is_known) return staging_failure(staging, "cannot be examined", errno);
  const bool same = held.st_dev == found.st_dev && held.st_ino == found.st_ino;
  if (locked && same) {
    CKPT_TRY(refuse_strange_files(staging));
    return std::move(*opened);
  }
  return misuse_hint("again when it is done", "{}: another ckpt is patching it just now",
                     path.string());
}

Result<PatchState> patch_state(const fs::path& path) {
  // Staged files become visible once the patch is decided.
  if (is_hidden(staging_of(path))) return PatchState::kLeftovers;
  CKPT_ASSIGN(const bool is_unfinished, is_there(journal_of(path)));
  if (is_unfinished) return PatchState::kUnfinished;
  CKPT_ASSIGN(const bool is_begun, is_there(staging_of(path)));
  return is_begun ? PatchState::kLeftovers : PatchState::kNone;
}

Status refuse_unfinished_patch(const fs::path& path) {
  if (!is_folder(path)) {
    CKPT_ASSIGN(const bool is_part, is_changed_with_folder(path));
    if (is_part) return refuse_unfinished_patch(base_of(path));
  }
  CKPT_ASSIGN(const PatchState state, patch_state(path));
  if (state != PatchState::kUnfinished) return {};
  if (const auto other = other_owner(staging_of(path))) {
    return misuse_hint(
        as_user(*other, path),
        "{}: a patch by user {} was interrupted; only that user, not this one ({}), can finish it",
        path.string(), *other, ::geteuid());
  }
  return misuse_hint(fmt::format("ckpt patch {}", shell_path(path.string())),
                     "{}: a patch was interrupted; rerun it to finish", path.string());
}

Status require_own_journal(const fs::path& path) {
  CKPT_TRY(require_own(path, journal_of(path)));
  return require_own(path, staging_of(path) / "files");
}

Status show_staging(const fs::path& path) {
  CKPT_ASSIGN(const OpenFolder base, OpenFolder::open(base_of(path)));
  const std::string name = staging_of(path).filename().string();
  CKPT_ASSIGN(const Descriptor staging, base.open_file(name, O_RDONLY | O_DIRECTORY));
  (void)!::fchmod(staging.get(), 0711);
  return {};
}

Status remove_staging(const fs::path& path, const StepHook& hook) {
  const fs::path staging = staging_of(path);
  if (hook) hook("clear");
  std::error_code error;
  fs::remove_all(staging, error);
  if (error) return staging_failure(staging, "cannot be removed", error.value());
  return {};  // not synced: if it reappears after a power cut, it is removed again
}

Result<std::string> digest_of_journal(const fs::path& path, std::string_view lines) {
  CKPT_ASSIGN(std::string text, identity_of(base_of(path)));
  CKPT_ASSIGN(const std::string staging, identity_of(staging_of(path)));
  text += staging + staging_of(path).filename().string() + '\n';
  Sha256 sha256;
  sha256.add(std::as_bytes(std::span(text)));
  sha256.add(std::as_bytes(std::span(lines)));
  return sha256.finish();
}

}  // namespace ckpt
