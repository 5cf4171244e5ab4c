#include "tools/published/verify_file.h"

#include <algorithm>

#include "tools/published/folder_digests.h"
#include "tools/published/listing.h"
#include "tools/published/numbered_name.h"
#include "tools/published/published_files.h"
#include "tools/published/verify_structure.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct FileSet {
  std::vector<std::string> present, missing;  // names in the folder
};

// The files that belong to `path`, itself among them.
Result<FileSet> files_with(const fs::path& path) {
  const auto numbered = parse_numbered(path);
  if (!numbered) return FileSet{{path.filename().string()}, {}};
  FileSet out;
  const fs::path folder = parent_of(path);
  for (unsigned i = 1; i <= numbered->count; ++i) {
    CKPT_ASSIGN(const bool exists, is_there(folder / numbered->of(i)));
    (exists ? out.present : out.missing).push_back(numbered->of(i));
  }
  const std::string index = numbered->prefix + ".safetensors.index.json";
  CKPT_ASSIGN(const bool has_index, is_there(folder / index));
  if (numbered->ending == ".safetensors" && has_index) out.present.push_back(index);
  return out;
}

Result<FolderEntry> entry_of(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::path path = folder / name;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error) return fail(ErrorCode::kIo, "{}: {}", path.string(), error.message());
  FolderEntry out{name, FolderEntry::Kind::kOther};
  if (status.type() == fs::file_type::symlink) {
    out.kind = FolderEntry::Kind::kLink;
    out.target = fs::read_symlink(path, error).string();
  } else if (status.type() == fs::file_type::regular) {
    out.kind = FolderEntry::Kind::kFile;
    out.size_bytes = fs::file_size(path, error);
  }
  if (error) return fail(ErrorCode::kIo, "{}: {}", path.string(), error.message());
  return out;
}

// The lines about the files in the SHA256SUMS next to them; nullopt where there are none.
Result<std::optional<Listing>> sums_of(const fs::path& folder, const FileSet& files,
                                       Findings& findings) {
  const fs::path sums = folder / kSumsName;
  CKPT_ASSIGN(const bool has_sums, is_there(sums));
  if (!has_sums) {
    findings.not_checked(fmt::format("no {} to compare with", kSumsName));
    return std::nullopt;
  }
  CKPT_ASSIGN(const std::string text, read_small(sums, kMaxSumsBytes));
  auto listing = read_sums(sums.string(), text, findings);
  if (!listing) return std::nullopt;
  std::erase_if(listing->listed, [&](const FileDigest& file) {
    const auto is_it = [&](const std::string& name) { return name == file.name; };
    return std::none_of(files.present.begin(), files.present.end(), is_it) &&
           std::none_of(files.missing.begin(), files.missing.end(), is_it);
  });
  if (!listing->listed.empty()) return listing;
  findings.not_checked(fmt::format("{} does not list it", sums.string()));
  return std::nullopt;
}

// Files that are missing and that no line of the sums speaks of.
void tell_missing(std::vector<std::string> missing, const std::vector<FileDigest>& listed,
                  Findings& findings) {
  std::erase_if(missing, [&](const std::string& name) {
    return std::any_of(listed.begin(), listed.end(),
                       [&](const FileDigest& file) { return file.name == name; });
  });
  if (missing.empty()) return;
  findings.bad(missing.front(),
               missing.size() == 1
                   ? "missing; one of the files that the model was cut into"
                   : fmt::format("missing, and {} more of the files that the model was cut into",
                                 missing.size() - 1));
}

}  // namespace

Status check_file(const fs::path& path, const Console& console, const CommonOptions& common,
                  Findings& findings) {
  const fs::path folder = parent_of(path);
  CKPT_ASSIGN(const FileSet files, files_with(path));
  const bool is_gguf = path.extension() == ".gguf";  // its reader opens all parts itself
  for (const std::string& name : files.present) {
    if (is_gguf ? name != path.filename() : name.ends_with(".json")) continue;
    CKPT_TRY(check_structure(path.parent_path() / name, false, findings));
  }
  CKPT_ASSIGN(const auto listing, sums_of(folder, files, findings));
  // The reader of GGUF has said it, and so will the comparison of those that the sums list.
  if (!is_gguf)
    tell_missing(files.missing, listing ? listing->listed : std::vector<FileDigest>(), findings);
  if (!listing) return {};
  std::vector<FolderEntry> entries;
  for (const std::string& name : files.present) {
    CKPT_ASSIGN(FolderEntry entry, entry_of(folder, name));
    entries.push_back(std::move(entry));
  }
  CKPT_ASSIGN(const auto digests, digest_files(folder, entries, false, console, common.threads));
  check_listings({*listing}, digests, entries, findings);
  return {};
}

}  // namespace ckpt
