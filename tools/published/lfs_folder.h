// git-LFS pointers to published files, with the small files themselves, in a folder of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "publish/publish.h"

namespace ckpt {

// Larger files are pointers in a git repository, smaller ones are in it (the hub's own limit).
inline constexpr uint64_t kLargestGitFileBytes = 10'000'000;

// The folder `path`, which is new or empty, appears whole. `files` are in the folder `from`.
// Fails: kIo.
Status write_lfs_folder(const std::string& path, const std::filesystem::path& from,
                        const std::vector<FileDigest>& files);

}  // namespace ckpt
