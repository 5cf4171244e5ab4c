// Lists folders, replaces small files atomically, and stores digests of files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/paths.h"

namespace ckpt {

struct FolderEntry {
  enum class Kind : uint8_t { kFile, kLink, kOther };
  std::string path;  // relative, with '/'
  Kind kind = Kind::kFile;
  uint64_t size_bytes = 0;  // of a file
  std::string target = {};  // of a link, as it is written
  std::string sha256 = {}, git_id = {};  // of a file of a URL, if its server lists them
};

// Of `path`, whose own status is `status`, under this name.
FolderEntry folder_entry(const std::filesystem::path& path, std::string name,
                         const std::filesystem::file_status& status, std::error_code& error);

// Everything under `folder` except folders, sorted by the bytes of the path; links are not
// followed. Omits paths in `ignored`, and everything in ignored folders. Fails: kIo; kUnsupported
// above a million entries.
Result<std::vector<FolderEntry>> list_folder(const std::filesystem::path& folder,
                                             const std::vector<std::string>& ignored);

// True when `path` is one of `ignored` or inside one of them.
bool is_ignored(std::string_view path, const std::vector<std::string>& ignored);

// The temporary name that replace_file() uses for `name`; a killed run leaves it behind.
std::string temporary_name(std::string_view name);
// Writes `content` next to `path` under a temporary name, syncs it and renames it over `path`; mode
// and owner are those of the file before it, or of a new output (core/io/ownership.h). Fails: kIo;
// kUsage if another run is at work on it, or it exists and `may_replace` is false. Then `path` is
// unchanged.
Status replace_file(const std::filesystem::path& path, std::string_view content,
                    bool may_replace = true);

// When a file was created, in ns since 1970: distinguishes it from a later file with the same inode
// number. 0 if the file system does not record it.
uint64_t birth_ns(const std::filesystem::path& path);

// The SHA-256 of a file, stored in an extended attribute with its size, modification time and
// inode, and used while these agree. It may be lost: many file systems have no attributes. A digest
// counts only if file and folder belong to this user and nobody else may write to them.
void remember_digest(const std::filesystem::path& path, std::string_view sha256);
std::optional<std::string> remembered_digest(const std::filesystem::path& path);
// The stored SHA-256, whether or not the file has changed since.
std::optional<std::string> recorded_digest(const std::filesystem::path& path);

// The URLs that a file with that SHA-256 was made from, stored in an extended attribute, which may
// be lost likewise. Empty for another SHA-256 than was stored.
void remember_sources(const std::filesystem::path& path, std::string_view sha256,
                      const std::vector<std::string>& urls);
std::vector<std::string> remembered_sources(const std::filesystem::path& path,
                                            std::string_view sha256);

}  // namespace ckpt
