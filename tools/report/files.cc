#include "tools/report/files.h"

#include <algorithm>
#include <map>

#include "core/io/folder.h"
#include "core/json/json_read.h"
#include "formats/formats.h"
#include "publish/publish.h"
#include "tools/published/listing.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// A record of more would make the page heavy, and says more than anyone reads there.
constexpr uint64_t kMaxShownProvenanceBytes = 64 << 10;

using Entries = std::vector<FolderEntry>;

bool is_record_name(std::string_view name) {
  return name == kSumsName || name == kSignatureName || name == kProvenanceName;
}

// A file may lie anywhere, in a home folder too: what lies below that is not looked through.
Result<Entries> entries_beside(const fs::path& path) {
  Entries out;
  std::error_code error;
  const fs::path folder = parent_of(path);
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_file_of(path, name) && !is_record_name(name)) continue;
    std::error_code ignored;
    const bool is_link = at->is_symlink(ignored), is_file = at->is_regular_file(ignored);
    const auto kind = is_link   ? FolderEntry::Kind::kLink
                      : is_file ? FolderEntry::Kind::kFile
                                : FolderEntry::Kind::kOther;
    const uint64_t size_bytes =
        kind == FolderEntry::Kind::kFile ? at->file_size(ignored) : uint64_t{0};
    out.push_back({name, kind, size_bytes});
  }
  if (error) return io_failure(folder, "cannot be listed", error.value());
  std::sort(out.begin(), out.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.path < b.path; });
  return out;
}

// nullopt where it is not there, no file of its own, or too large.
std::optional<std::string> own_text(const Entries& entries, const fs::path& folder,
                                    std::string_view name, uint64_t limit_bytes) {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const FolderEntry& entry) { return entry.path == name; });
  if (at == entries.end() || at->kind != FolderEntry::Kind::kFile) return std::nullopt;
  auto text = read_small(folder / name, limit_bytes);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

std::map<std::string, std::string> listed_digests(const std::optional<std::string>& sums,
                                                  ReportedFiles& out) {
  std::map<std::string, std::string> digests;
  if (!sums) return digests;
  const auto listed = parse_sha256sums(*sums);
  out.has_sums = listed.has_value();
  if (!listed) return digests;
  for (const FileDigest& file : *listed) digests[file.name] = file.sha256;
  return digests;
}

}  // namespace

Result<ReportedFiles> reported_files(const fs::path& path) {
  ReportedFiles out;
  const fs::path folder = is_folder(path) ? path : parent_of(path);
  CKPT_ASSIGN(const Entries entries,
              is_folder(path) ? list_folder(path, unpublished_paths()) : entries_beside(path));
  const auto digests = listed_digests(own_text(entries, folder, kSumsName, kMaxSumsBytes), out);
  for (const FolderEntry& entry : entries) {
    out.has_signature = out.has_signature || entry.path == kSignatureName;
    const bool is_part = is_folder(path) || is_file_of(path, entry.path);
    if (!is_part || entry.kind == FolderEntry::Kind::kOther) continue;
    std::error_code error;
    const uint64_t size_bytes = entry.kind == FolderEntry::Kind::kFile
                                    ? entry.size_bytes
                                    : fs::file_size(folder / entry.path, error);
    if (error) continue;  // a link to nowhere
    const auto digest = digests.find(entry.path);
    out.size_bytes += size_bytes;
    out.list.push_back({{"name", entry.path},
                        {"size_bytes", size_bytes},
                        {"sha256", digest == digests.end() ? Json() : Json(digest->second)}});
  }
  const auto record = own_text(entries, folder, kProvenanceName, kMaxShownProvenanceBytes);
  const auto json = parse_json(kProvenanceName, record.value_or("null"));
  if (json) out.provenance = Json(*json);
  return out;
}

}  // namespace ckpt
