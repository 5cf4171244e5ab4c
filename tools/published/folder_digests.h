// The digests of a folder's files, hashed in parallel with one line of progress.
#pragma once

#include <filesystem>
#include <vector>

#include "core/io/folder.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

struct DigestOptions {
  unsigned threads = 0;
  // Skip reading a file that has a remembered digest and has not changed since.
  bool trust_remembered = false;
  // Record a fault instead of a digest for a file that cannot match its server's listing.
  bool keep_faults = false;
};
// Digests of those entries that are files, in their order. Call check_files_read() to see whether
// files changed meanwhile. Fails: kIo; kInterrupted; kCorrupt unless faults are kept.
Result<std::vector<FileDigest>> digest_files(const std::filesystem::path& folder,
                                             const std::vector<FolderEntry>& entries,
                                             const Console& console, const DigestOptions& options);
// The error kIo: the digest of `path` is no longer the one that was found or remembered.
Failure changed_since_hashed(const std::filesystem::path& path);
// Fails as digest_source() would before hashing. URLs always pass, and no server is contacted.
Status check_source(const std::filesystem::path& path);
// The digests of a file or of all files of a folder, also linked ones. They are named after the
// folder or the URL under which the same files can be found later.
Result<Provenance::Input> digest_source(const std::filesystem::path& path, const Console& console,
                                        const DigestOptions& options);

// Completes `typed`, a --source, with the commit that was read when `files` of `folder` were made,
// because a branch may have moved since. Unchanged, with a warning, if that commit is unknown.
// Fails: kUsage if the typed commit is not the one that was read, or if several were read.
Result<std::string> source_as_read(const std::string& typed, const std::filesystem::path& folder,
                                   const std::vector<FileDigest>& files, const Console& console);

}  // namespace ckpt
