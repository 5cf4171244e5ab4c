// The digests of a folder's files, hashed side by side with one line of progress.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/io/folder.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

// Digests of those entries that are files, in their order. With `trust_remembered`, a file whose
// digest was remembered and that has not changed since is not read. Whether files changed
// meanwhile check_files_read() says. Fails: kIo; kInterrupted.
Result<std::vector<FileDigest>> digest_files(const std::filesystem::path& folder,
                                             const std::vector<FolderEntry>& entries,
                                             bool trust_remembered, const Console& console,
                                             unsigned threads);
// The digests of a file, or of all files of a folder, whether they lie there or are linked.
Result<std::vector<FileDigest>> digest_source(const std::filesystem::path& path,
                                              bool trust_remembered, const Console& console,
                                              unsigned threads);

}  // namespace ckpt
