#include "tools/folder_digests.h"

#include <mutex>

#include "core/engine/compare.h"
#include "tools/commands.h"

namespace ckpt {
namespace fs = std::filesystem;

Result<std::vector<FileDigest>> digest_files(const fs::path& folder,
                                             const std::vector<FolderEntry>& entries,
                                             bool trust_remembered, const Console& console,
                                             unsigned threads) {
  std::vector<FileDigest> out;
  uint64_t total_bytes = 0;
  for (const FolderEntry& entry : entries) {
    if (entry.kind != FolderEntry::Kind::kFile) continue;
    FileDigest digest{entry.path, {}, entry.size_bytes};
    if (trust_remembered) digest.sha256 = remembered_digest(folder / entry.path).value_or("");
    if (digest.sha256.empty()) total_bytes += entry.size_bytes;
    out.push_back(std::move(digest));
  }
  ProgressLine progress(console, "hashing");
  std::mutex mutex;
  uint64_t done_bytes = 0;
  const auto advanced = [&](uint64_t bytes) {
    const std::lock_guard lock(mutex);
    progress.advanced(done_bytes += bytes, total_bytes);
  };
  CKPT_TRY(for_each_parallel(out.size(), threads, [&](size_t i) -> Status {
    if (!out[i].sha256.empty()) return {};
    CKPT_ASSIGN(out[i].sha256, hash_file(folder / out[i].name, &interrupted, advanced));
    return {};
  }));
  progress.clear();
  return out;
}

}  // namespace ckpt
