// Stores digests and sources of files in extended attributes. They may be lost, because many file
// systems have no attributes.
//
//   user.ckpt.sha256    SHA256 size mtime-seconds mtime-nanoseconds inode LAST-CHANGE
//   user.ckpt.sources   SHA256, then one line per URL
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// A stored SHA-256 counts while size, modification time and inode are equal and the inode has not
// changed since the attribute was stored: a program can set back the modification time, but not the
// time of that change. File and folder must also belong to this user, and nobody else may write to
// them. A new name, mode or attribute from another program also invalidates it; the file is then
// hashed again.
void remember_digest(const std::filesystem::path& path, std::string_view sha256);
std::optional<std::string> remembered_digest(const std::filesystem::path& path);
// The stored SHA-256, even if the file has changed since.
std::optional<std::string> recorded_digest(const std::filesystem::path& path);

// The URLs that a file with this SHA-256 was made from. Empty if another SHA-256 was stored.
void remember_sources(const std::filesystem::path& path, std::string_view sha256,
                      const std::vector<std::string>& urls);
std::vector<std::string> remembered_sources(const std::filesystem::path& path,
                                            std::string_view sha256);

}  // namespace ckpt
