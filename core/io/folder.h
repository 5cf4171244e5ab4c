// Lists folders and replaces small files atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
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

// Relative paths, with '/'.
using PathSet = std::set<std::string, std::less<>>;

// Everything under `folder` except folders, sorted by the bytes of the path; links are not
// followed. Omits paths in `ignored`, and everything in ignored folders. Fails: kIo; kUnsupported
// above a million entries.
Result<std::vector<FolderEntry>> list_folder(const std::filesystem::path& folder,
                                             const PathSet& ignored);

// True when `path` is one of `ignored` or inside one of them.
bool is_ignored(std::string_view path, const PathSet& ignored);

// The temporary name that replace_file() uses for `name`; a killed run leaves it behind.
std::string temporary_name(std::string_view name);
// Writes `content` next to `path` under a temporary name, syncs it and renames it over `path`; mode
// and owner are those of the file before it, or of a new output (core/io/ownership.h). Fails: kIo;
// kUsage if another run is at work on it, or it exists and `may_replace` is false. Then `path` is
// unchanged.
Status replace_file(const std::filesystem::path& path, std::string_view content,
                    bool may_replace = true);
// The same for what later runs of this user believe: nobody else may read or write it.
Status replace_own_file(const std::filesystem::path& path, std::string_view content);

// When a file was created, in ns since 1970: distinguishes it from a later file with the same inode
// number. 0 if the file system does not record it.
uint64_t birth_ns(const std::filesystem::path& path);

}  // namespace ckpt
