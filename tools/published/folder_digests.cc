#include "tools/published/folder_digests.h"

#include <functional>
#include <mutex>
#include <optional>

#include "core/engine/compare.h"
#include "core/engine/hash_files.h"
#include "core/io/bytes.h"
#include "core/io/paths.h"
#include "core/io/remembered.h"
#include "core/io/remote_files.h"
#include "core/patch/journal.h"
#include "core/resume/unfinished.h"
#include "tools/line/commands.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;

namespace {

// The known SHA-256: for a URL the one that its server lists, else the remembered one.
std::string known_digest(const fs::path& path, const FolderEntry& entry) {
  return is_url(path) ? entry.sha256 : remembered_digest(path).value_or("");
}

// The git id, too, where a hub lists one.
Result<std::string> digest_of_url(const fs::path& path, const FolderEntry& entry, FileDigest& out,
                                  const std::function<void(uint64_t)>& advanced) {
  std::optional<GitId> git_id;
  if (!entry.git_id.empty()) git_id.emplace(entry.size_bytes);
  CKPT_ASSIGN(std::string sha256,
              hash_file(path, &interrupted, advanced, git_id ? &*git_id : nullptr));
  if (git_id) out.git_id = git_id->finish();
  return sha256;
}

}  // namespace

Result<std::vector<FileDigest>> digest_files(const fs::path& folder,
                                             const std::vector<FolderEntry>& entries,
                                             const Console& console, const DigestOptions& options) {
  std::vector<FileDigest> out;
  out.reserve(entries.size());
  std::vector<std::pair<const FolderEntry*, FileDigest*>> files;
  uint64_t total_bytes = 0;
  for (const FolderEntry& entry : entries) {
    if (entry.kind != FolderEntry::Kind::kFile) continue;
    FileDigest digest{entry.path, {}, entry.size_bytes};
    if (options.trust_remembered) {
      CKPT_TRY(open_file(folder / entry.path));  // so that check_files_read() checks it, too
      digest.sha256 = known_digest(folder / entry.path, entry);
    }
    if (digest.sha256.empty()) total_bytes += entry.size_bytes;
    out.push_back(std::move(digest));
    files.emplace_back(&entry, &out.back());
  }
  ProgressLine progress(console, "hashing");
  std::mutex mutex;
  uint64_t done_bytes = 0;
  const auto advanced = [&](uint64_t bytes) {
    const std::lock_guard lock(mutex);
    progress.advanced(done_bytes += bytes, total_bytes);
  };
  std::erase_if(files, [](const auto& file) { return !file.second->sha256.empty(); });
  std::vector<fs::path> paths;
  for (const auto& [entry, digest] : files) paths.push_back(folder / entry->path);
  const auto take = [&](size_t i, Result<std::string> sha256) -> Status {
    FileDigest& digest = *files[i].second;
    if (sha256) {
      digest.sha256 = std::move(*sha256);
    } else if (options.keep_faults && sha256.error().code == ErrorCode::kCorrupt) {
      digest.fault = sha256.error().text();
    } else {
      return Failure(std::move(sha256.error()));
    }
    return {};
  };
  if (!is_url(folder)) {
    CKPT_TRY(hash_files(paths, {options.threads, &interrupted, advanced}, take));
    return out;
  }
  CKPT_TRY(for_each_parallel(paths.size(), kUrlsHashed, [&](size_t i) {
    return take(i, digest_of_url(paths[i], *files[i].first, *files[i].second, advanced));
  }));
  return out;
}

Failure changed_since_hashed(const fs::path& path) {
  return fail_with_hint(ErrorCode::kIo, "the same command with --rehash",
                        "{}: was changed while or before it was published", path.string());
}

namespace {

Result<std::vector<FolderEntry>> entries_of_source(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  std::vector<FolderEntry> entries;
  CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
  if (!exists) return not_found("--source {}: does not exist", path.string());
  if (!is_url(path)) {
    CKPT_TRY(refuse_unfinished_patch(path));
    CKPT_TRY(refuse_unfinished_output(path));
  }
  if (is_folder(path)) {
    CKPT_ASSIGN(entries, list_publishable(path));
    if (is_url(path)) return entries;
    CKPT_TRY(refuse_unfinished_in(path, entries, {}));
    // Snapshots in the Hub's cache are links to files with other names; the content of the files
    // counts.
    for (FolderEntry& entry : entries) {
      if (!fs::is_regular_file(path / entry.path, error)) continue;
      entry.kind = FolderEntry::Kind::kFile;
      entry.size_bytes = fs::file_size(path / entry.path, error);
    }
    return entries;
  }
  const std::string name = path.filename().string();
  if (path.native().starts_with("hf://")) {
    CKPT_ASSIGN(entries, list_folder(folder, {}));
    std::erase_if(entries, [&](const FolderEntry& entry) { return entry.path != name; });
    return entries;
  }
  if (is_url(path)) {
    CKPT_ASSIGN(const SharedSource source, open_file(path));
    entries.push_back({name, FolderEntry::Kind::kFile, source->size_bytes()});
  } else {
    entries.push_back({name, FolderEntry::Kind::kFile, fs::file_size(path, error)});
  }
  if (error) return misuse("--source {}: {}", path.string(), error.message());
  return entries;
}

// The folder's or file's name, or the URL of the folder.
Result<std::string> name_of_source(const fs::path& path) {
  fs::path name = path.filename();
  if (is_url(path)) {
    CKPT_ASSIGN(const fs::path pinned, pinned_path(path));
    name = is_folder(path) ? pinned : parent_of(pinned);
    return (name.has_filename() ? name : name.parent_path()).string();
  }
  if (name.empty() || name == "." || name == "..") {
    std::error_code error;
    name = fs::weakly_canonical(path, error).filename();
  }
  if (name.empty()) name = path.parent_path().filename();
  return name.string();
}

}  // namespace

Status check_source(const fs::path& path) {
  if (is_url(path)) return {};
  CKPT_ASSIGN(const auto entries, entries_of_source(path, parent_of(path)));
  if (entries.empty()) return misuse("--source {}: no files", path.string());
  return {};
}

Result<Provenance::Input> digest_source(const fs::path& path, const Console& console,
                                        const DigestOptions& options) {
  const fs::path folder = is_folder(path) ? path : parent_of(path);
  CKPT_ASSIGN(const auto entries, entries_of_source(path, folder));
  if (entries.empty()) return misuse("--source {}: no files", path.string());
  CKPT_ASSIGN(auto digests, digest_files(folder, entries, console, options));
  for (size_t i = 0; is_url(path) && i < entries.size(); ++i) {
    const FolderEntry& listed = entries[i];
    const bool is_same = (listed.sha256.empty() || listed.sha256 == digests[i].sha256) &&
                         (digests[i].git_id.empty() || listed.git_id == digests[i].git_id);
    if (!is_same) {
      return corrupt("--source {}: other bytes than its server lists",
                     (folder / listed.path).string());
    }
  }
  CKPT_ASSIGN(std::string name, name_of_source(path));
  return Provenance::Input{std::move(name), std::move(digests)};
}

}  // namespace ckpt
