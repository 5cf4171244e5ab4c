#include "tools/published/folder_digests.h"

#include <functional>
#include <mutex>
#include <optional>

#include "core/engine/compare.h"
#include "core/io/bytes.h"
#include "core/resume/unfinished.h"
#include "tools/line/commands.h"
#include "tools/published/listing.h"

namespace ckpt {
namespace fs = std::filesystem;

namespace {

Status digest_file(const fs::path& path, const FolderEntry& entry, FileDigest& out,
                   const std::function<void(uint64_t)>& advanced) {
  std::optional<GitId> git_id;
  if (!entry.git_id.empty()) git_id.emplace(entry.size_bytes);
  CKPT_ASSIGN(out.sha256, hash_file(path, &interrupted, advanced, git_id ? &*git_id : nullptr));
  if (git_id) out.git_id = git_id->finish();
  return {};
}

}  // namespace

Result<std::vector<FileDigest>> digest_files(const fs::path& folder,
                                             const std::vector<FolderEntry>& entries,
                                             const Console& console, const DigestOptions& options) {
  std::vector<FileDigest> out;
  std::vector<const FolderEntry*> files;
  uint64_t total_bytes = 0;
  for (const FolderEntry& entry : entries) {
    if (entry.kind != FolderEntry::Kind::kFile) continue;
    FileDigest digest{entry.path, {}, entry.size_bytes};
    if (options.trust_remembered) {
      CKPT_TRY(open_file(folder / entry.path));  // check_files_read() then asks for it, too
      digest.sha256 = remembered_digest(folder / entry.path).value_or("");
    }
    if (digest.sha256.empty()) total_bytes += entry.size_bytes;
    out.push_back(std::move(digest));
    files.push_back(&entry);
  }
  ProgressLine progress(console, "hashing");
  std::mutex mutex;
  uint64_t done_bytes = 0;
  const auto advanced = [&](uint64_t bytes) {
    const std::lock_guard lock(mutex);
    progress.advanced(done_bytes += bytes, total_bytes);
  };
  CKPT_TRY(for_each_parallel(out.size(), options.threads, [&](size_t i) -> Status {
    if (!out[i].sha256.empty()) return {};
    Status done = digest_file(folder / out[i].name, *files[i], out[i], advanced);
    if (done || !options.keep_faults || done.error().code != ErrorCode::kCorrupt) return done;
    out[i].fault = done.error().text();
    return {};
  }));
  progress.clear();
  return out;
}

Result<std::vector<FileDigest>> digest_source(const fs::path& path, const Console& console,
                                              const DigestOptions& options) {
  CKPT_TRY(refuse_unfinished_output(path));
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path folder = is_folder ? path : path.has_parent_path() ? path.parent_path() : ".";
  std::vector<FolderEntry> entries;
  if (is_folder) {
    CKPT_ASSIGN(entries, list_folder(path, unpublished_paths()));
    // Snapshots of the hub's cache are links to files with other names: their content counts.
    for (FolderEntry& entry : entries) {
      if (!fs::is_regular_file(path / entry.path, error)) continue;
      entry.kind = FolderEntry::Kind::kFile;
      entry.size_bytes = fs::file_size(path / entry.path, error);
    }
  } else {
    entries.push_back(
        {path.filename().string(), FolderEntry::Kind::kFile, fs::file_size(path, error)});
    if (error) return fail(ErrorCode::kUsage, "--source {}: {}", path.string(), error.message());
  }
  return digest_files(folder, entries, console, options);
}

}  // namespace ckpt
