#include "core/io/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/io/remote_files.h"
#include "core/io/shift.h"
#include "core/io/temporary.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxEntries = 1'000'000;

Result<std::vector<FolderEntry>> list_url(const fs::path& folder, const PathSet& ignored) {
  CKPT_ASSIGN(auto entries, url_files().list(folder.string()));
  std::vector<FolderEntry> out;
  for (RemoteEntry& entry : entries) {
    if (is_ignored(entry.path, ignored)) continue;
    out.push_back({std::move(entry.path),
                   FolderEntry::Kind::kFile,
                   entry.size_bytes,
                   {},
                   std::move(entry.sha256),
                   std::move(entry.git_id)});
  }
  return out;
}

}  // namespace

bool is_ignored(std::string_view path, const PathSet& ignored) {
  for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
    if (ignored.contains(path.substr(0, at))) return true;
  }
  return ignored.contains(path);
}

FolderEntry folder_entry(const fs::path& path, std::string name, const fs::file_status& status,
                         std::error_code& error) {
  FolderEntry out{std::move(name), FolderEntry::Kind::kOther};
  if (status.type() == fs::file_type::regular) {
    out.kind = FolderEntry::Kind::kFile;
    out.size_bytes = fs::file_size(path, error);
  } else if (status.type() == fs::file_type::symlink) {
    std::error_code ignored;  // a link that was just removed has no target
    out.kind = FolderEntry::Kind::kLink;
    out.target = fs::read_symlink(path, ignored).string();
  }
  return out;
}

Result<std::vector<FolderEntry>> list_folder(const fs::path& folder, const PathSet& ignored) {
  if (is_url(folder)) return list_url(folder, ignored);
  std::vector<FolderEntry> out;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    const std::string path = entries->path().lexically_relative(folder).generic_string();
    const fs::file_status status = entries->symlink_status(error);
    if (error) break;
    const bool is_folder = status.type() == fs::file_type::directory;
    if (is_ignored(path, ignored)) {
      if (is_folder) entries.disable_recursion_pending();
      continue;
    }
    if (is_folder) continue;
    out.push_back(folder_entry(entries->path(), path, status, error));
    if (error) break;
    if (out.size() > kMaxEntries) {
      return unsupported("{}: more than {} files", folder.string(), kMaxEntries);
    }
  }
  if (error) {
    return io_failure(folder, "cannot be listed", error.value());
  }
  std::ranges::sort(out, {}, &FolderEntry::path);
  return out;
}

std::string temporary_name(std::string_view name) { return fmt::format(".{}.partial", name); }

Status replace_file(const fs::path& path, std::string_view content, bool may_replace) {
  const std::string name = path.filename().string();
  const fs::path temporary = path.parent_path() / temporary_name(name);
  CKPT_ASSIGN(const LockedTemporary made, LockedTemporary::file(temporary));
  CKPT_TRY(write_synced(made.descriptor(), temporary, std::as_bytes(std::span(content))));
  CKPT_TRY(made.parent().give_attributes(name, made.name()));
  CKPT_TRY(made.publish(name, may_replace));
  return made.parent().sync();
}

Status replace_own_file(const fs::path& path, std::string_view content) {
  const std::string name = path.filename().string();
  // The temporary name is specific to ckpt and to this output.
  const fs::path partial = parent_of(path) / fmt::format(".ckpt-{}.partial", name);
  CKPT_ASSIGN(const LockedTemporary made, LockedTemporary::file(partial));
  CKPT_TRY(write_synced(made.descriptor(), partial, std::as_bytes(std::span(content))));
  return made.publish(name);
}

uint64_t birth_ns(const fs::path& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return 0;
  if ((status.stx_mask & STATX_BTIME) == 0 || status.stx_btime.tv_sec < 0) return 0;
  return static_cast<uint64_t>(status.stx_btime.tv_sec) * 1'000'000'000 + status.stx_btime.tv_nsec;
}

}  // namespace ckpt
