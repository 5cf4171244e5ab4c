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
  uint64_t size_bytes = 0;  // for a file
  std::string target = {};  // for a link: its text
  std::string sha256 = {}, git_id = {};  // for a URL's file, if its server lists them
};

// Describes `path`, whose own status is `status`, under the name `name`.
FolderEntry folder_entry(const std::filesystem::path& path, std::string name,
                         const std::filesystem::file_status& status, std::error_code& error);

// Relative paths with '/'.
using PathSet = std::set<std::string, std::less<>>;

// Returns everything in `folder` except folders, sorted by the bytes of the path; links are not
// followed. Omits paths in `ignored`, and everything in ignored folders. Fails: kIo; kUnsupported
// above a million entries.
Result<std::vector<FolderEntry>> list_folder(const std::filesystem::path& folder,
                                             const PathSet& ignored);

// Whether `path` is in `ignored` or inside a folder in it.
bool is_ignored(std::string_view path, const PathSet& ignored);

// The temporary name that replace_file() uses for `name`; a killed run leaves it behind.
std::string temporary_name(std::string_view name);
// Writes `content` next to `path` under a temporary name, syncs it and renames it to `path`. Mode
// and owner are those of the replaced file, or of a new output (core/io/ownership.h). Fails: kIo;
// kUsage if another run is writing it, or it exists and `may_replace` is false. `path` is then
// unchanged.
Status replace_file(const std::filesystem::path& path, std::string_view content,
                    bool may_replace = true);
// Does the same for files that later runs of this user trust: nobody else may read or write them.
Status replace_own_file(const std::filesystem::path& path, std::string_view content);

// The creation time in ns since 1970, which distinguishes a file from a later one with the same
// inode number. 0 if the file system does not record it.
uint64_t birth_ns(const std::filesystem::path& path);

}  // namespace ckpt
