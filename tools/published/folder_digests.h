// The digests of a folder's files, hashed side by side with one line of progress.
#pragma once

#include <filesystem>
#include <vector>

#include "core/io/folder.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

struct DigestOptions {
  unsigned threads = 0;
  // A file whose digest was remembered and that has not changed since is not read.
  bool trust_remembered = false;
  // A file that cannot be what its server lists gets a fault and no digest.
  bool keep_faults = false;
};
// Digests of those entries that are files, in their order. Whether files changed meanwhile
// check_files_read() says. Fails: kIo; kInterrupted; kCorrupt where faults are not kept.
Result<std::vector<FileDigest>> digest_files(const std::filesystem::path& folder,
                                             const std::vector<FolderEntry>& entries,
                                             const Console& console, const DigestOptions& options);
// kIo: `path` does not have the digest that was found or remembered.
Failure changed_since_hashed(const std::filesystem::path& path);
// Fails as digest_source() does before it hashes; of URLs, which nothing is asked about, never.
Status check_source(const std::filesystem::path& path);
// The digests of a file, or of all files of a folder, whether they are in it or linked, under the
// folder's name or the URL that names the same files later.
Result<Provenance::Input> digest_source(const std::filesystem::path& path, const Console& console,
                                        const DigestOptions& options);

// `typed`, a --source, at the commit that was read when `files` of `folder` were made: a branch may
// have moved since. As typed, with a warning, where nothing tells that commit. Fails: kUsage if
// another commit was typed than was read, and if several were read.
Result<std::string> source_as_read(const std::string& typed, const std::filesystem::path& folder,
                                   const std::vector<FileDigest>& files, const Console& console);

}  // namespace ckpt
