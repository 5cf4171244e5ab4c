#include "core/io/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/hex.h"
#include "core/base/lines.h"
#include "core/io/descriptor.h"
#include "core/io/remote_files.h"
#include "core/io/shift.h"
#include "core/io/temporary.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxEntries = 1'000'000;
constexpr const char* kDigestAttribute = "user.ckpt.sha256";
constexpr const char* kSourcesAttribute = "user.ckpt.sources";
constexpr size_t kMaxSourcesBytes = 64 << 10;  // of any attribute

// "size mtime-seconds mtime-nanoseconds inode": what a digest was taken of.
std::string file_stamp(const struct stat& status) {
  return fmt::format("{} {} {} {}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_ino);
}

// "" where there is none.
std::string digest_attribute(int file) {
  std::string value(256, '\0');
  const ssize_t size = ::fgetxattr(file, kDigestAttribute, value.data(), value.size());
  value.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return value;
}

std::optional<std::string> digest_in(const std::string& value) {
  if (value.size() < 65) return std::nullopt;
  std::string digest = value.substr(0, 64);
  return is_hex(digest) ? std::optional(std::move(digest)) : std::nullopt;
}

Result<std::vector<FolderEntry>> list_url(const fs::path& folder,
                                          const std::vector<std::string>& ignored) {
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

// Another user who may write to a file can give it any attribute, and one who may write to its
// folder can put a file there that has one.
bool is_closed_to_others(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

bool is_ignored(std::string_view path, const std::vector<std::string>& ignored) {
  return std::ranges::any_of(ignored, [&](const std::string& one) {
    return path == one || (path.starts_with(one) && path.substr(one.size()).starts_with('/'));
  });
}

FolderEntry folder_entry(const fs::path& path, std::string name, const fs::file_status& status,
                         std::error_code& error) {
  FolderEntry out{std::move(name), FolderEntry::Kind::kOther};
  if (status.type() == fs::file_type::regular) {
    out.kind = FolderEntry::Kind::kFile;
    out.size_bytes = fs::file_size(path, error);
  } else if (status.type() == fs::file_type::symlink) {
    std::error_code ignored;  // a link that is gone by now has no target
    out.kind = FolderEntry::Kind::kLink;
    out.target = fs::read_symlink(path, ignored).string();
  }
  return out;
}

Result<std::vector<FolderEntry>> list_folder(const fs::path& folder,
                                             const std::vector<std::string>& ignored) {
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

uint64_t birth_ns(const fs::path& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status) != 0) return 0;
  if ((status.stx_mask & STATX_BTIME) == 0 || status.stx_btime.tv_sec < 0) return 0;
  return static_cast<uint64_t>(status.stx_btime.tv_sec) * 1'000'000'000 + status.stx_btime.tv_nsec;
}

void remember_digest(const fs::path& path, std::string_view sha256) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const std::string value = fmt::format("{} {}", sha256, file_stamp(status));
  (void)!::setxattr(path.c_str(), kDigestAttribute, value.data(), value.size(), 0);
}

namespace {

// The digest of a file's attribute, where `counts(value, file, folder)` says that it counts.
template <class Counts>
std::optional<std::string> digest_of(const fs::path& path, Counts counts) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);  // the folder of a link says nothing
  if (error) return std::nullopt;
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Descriptor file(retried([&] { return ::open(real.c_str(), kFlags); }));
  struct stat status{}, folder{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::stat(real.parent_path().c_str(), &folder) != 0) {
    return std::nullopt;
  }
  const std::string value = digest_attribute(file.get());
  const auto digest = digest_in(value);
  return digest && counts(value, status, folder) ? digest : std::nullopt;
}

}  // namespace

std::optional<std::string> remembered_digest(const fs::path& path) {
  return digest_of(path, [](std::string_view value, const auto& file, const auto& folder) {
    return is_closed_to_others(file) && is_closed_to_others(folder) &&
           value.substr(64) == " " + file_stamp(file);
  });
}

std::optional<std::string> recorded_digest(const fs::path& path) {
  return digest_of(path, [](const auto&...) { return true; });
}

// "SHA256\nURL\n..."
void remember_sources(const fs::path& path, std::string_view sha256,
                      const std::vector<std::string>& urls) {
  if (urls.empty()) return;
  std::string value(sha256);
  for (const std::string& url : urls) value += "\n" + url;
  (void)!::setxattr(path.c_str(), kSourcesAttribute, value.data(), value.size(), 0);
}

std::vector<std::string> remembered_sources(const fs::path& path, std::string_view sha256) {
  std::string value(kMaxSourcesBytes, '\0');
  const ssize_t size = ::getxattr(path.c_str(), kSourcesAttribute, value.data(), value.size());
  std::string_view text =
      std::string_view(value).substr(0, size < 0 ? 0 : static_cast<size_t>(size));
  if (sha256.empty() || take_line(text) != sha256) return {};
  std::vector<std::string> out;
  while (!text.empty()) out.emplace_back(take_line(text));
  return out;
}

}  // namespace ckpt
