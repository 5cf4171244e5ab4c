// Finds the paths that --force may remove from a folder: those that its index, this plan or a
// publication names in its top level. Any other file makes the run fail with a list.
//
//   shards                     those in the index; without an index, those that would be read
//   config, tokenizer          files that read_documents() reads
//   README.md, LICENSE         if ckpt wrote them, or writes the same again
//   any of these documents     not if changed since ckpt wrote it
//   SHA256SUMS, model.sig ...  of `ckpt publish`
//   .cache/huggingface         records of `hf download` about these files, not a cache of models
//   files of other users       never, unless they also own the folder
//   folders without files      never
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/counted.h"
#include "core/base/nearest.h"
#include "core/base/sha256.h"
#include "core/io/folder.h"
#include "core/io/ownership.h"
#include "core/io/remembered.h"
#include "core/model/document_names.h"
#include "core/outputs/place.h"
#include "formats/formats.h"
#include "plan/conversion/targets.h"
#include "publish/publish.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr size_t kShownNames = 12;
constexpr uint64_t kMaxComparedBytes = uint64_t{256} << 20;

// Lists paths by their top-level entry: ".git/ (12 files), notes.txt".
std::string shown(const std::vector<std::string>& paths) {
  std::map<std::string, size_t> files;
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    const size_t slash = path.find('/');
    const std::string name = path.substr(0, slash);
    files[name] += path.ends_with('/') ? 0 : 1;
    if (slash != path.npos) folders.insert(name);
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : files) {
    names.push_back(folders.contains(name) ? fmt::format("{}/ ({})", name, counted(count, "file"))
                                           : name);
  }
  return first_names(names, kShownNames);
}

// Empty folders, each with a slash at its end.
Result<std::vector<std::string>> list_empty_folders(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    if (entries->symlink_status(error).type() != fs::file_type::directory) continue;
    if (!fs::is_empty(entries->path(), error)) continue;
    out.push_back(entries->path().lexically_relative(folder).generic_string() + "/");
  }
  if (error) return io_failure(folder, "cannot be listed", error.value());
  return out;
}

// Whether the file is a record of `hf download --local-dir` about the files next to it.
bool is_download_note(std::string_view path) {
  constexpr std::string_view kNotes = ".cache/huggingface/";
  if (!path.starts_with(kNotes)) return false;
  path.remove_prefix(kNotes.size());
  if (path == ".gitignore" || path == "CACHEDIR.TAG" || path == "download/") return true;
  return path.starts_with("download/") && (path.ends_with(".metadata") || path.ends_with(".lock"));
}

bool is_published_name(std::string_view path) {
  constexpr std::array<std::string_view, 4> kPublished = {kSumsName, kSignatureName,
                                                          kProvenanceName, ".gitattributes"};
  return std::ranges::find(kPublished, path) != kPublished.end();
}

std::set<std::string> planned_names(const Output& output) {
  std::set<std::string> out;
  for (const OutputFile& file : output.layout.files) out.insert(file.path);
  return out;
}

class ReplacedFolder {
 public:
  explicit ReplacedFolder(const Output& output)
      : output_(output), folder_(output.path), planned_(planned_names(output)) {}
  Result<std::vector<std::string>> run(const ReadOptions& reading) {
    if (::stat(folder_.c_str(), &own_) != 0)
      return io_failure(folder_, "cannot be examined", errno);
    CKPT_ASSIGN(const std::vector<FolderEntry> entries, list_folder(folder_, {}));
    const auto weights = files_of_weights(folder_, reading);
    if (weights) weights_.insert(weights->begin(), weights->end());
    std::vector<std::string> others, gone;
    for (const FolderEntry& entry : entries) {
      const std::string name = stays(entry);
      (name.empty() ? gone : others).push_back(name.empty() ? entry.path : name);
    }
    CKPT_ASSIGN(const std::vector<std::string> empty, list_empty_folders(folder_));
    for (const std::string& path : empty) {
      (is_download_note(path) ? gone : others).push_back(path);
    }
    if (!others.empty()) {
      return misuse_hint("another OUT, or move them out of it",
                         "{}: --force would remove files that are not part of a checkpoint: {}",
                         folder_.string(), shown(others));
    }
    if (entries.empty() || recognize(folder_)) return gone;
    return not_a_checkpoint(folder_);
  }

 private:
  // How to show a file that must stay; empty for a file that may be removed.
  std::string stays(const FolderEntry& entry) const {
    const std::string& path = entry.path;
    if (entry.kind == FolderEntry::Kind::kOther || !is_owned(path)) return path;
    if (is_document(path)) return document_stays(path);
    const bool goes = planned_.contains(path) || weights_.contains(path) ||
                      is_download_note(path) || is_published_name(path) ||
                      (path == kReportName && has_published_report(folder_));
    return goes ? std::string() : path;
  }

  std::string document_stays(const std::string& path) const {
    if (remembered_digest(folder_ / path)) return {};
    const auto recorded = recorded_digest(folder_ / path);
    const bool is_personal = is_document_of(DocumentKind::kWords, path);
    if (!recorded && !is_personal) return {};
    const auto text = read_small(folder_ / path, kMaxComparedBytes);
    if (!text) return path;
    const Document* again = output_.checkpoint.find_document(path);
    if (again != nullptr && again->text() == *text) return {};
    if (recorded && sha256_of(*text) == *recorded) return {};
    return recorded ? path + " (changed since ckpt wrote it)" : path;
  }

  bool is_owned(const std::string& path) const {
    struct stat status {};
    const fs::path whole = folder_ / path;
    if (::lstat(whole.c_str(), &status) != 0) return false;
    return status.st_uid == own_.st_uid || is_ours(whole, status, Guard::kOwner);
  }

  const Output& output_;
  const fs::path& folder_;
  const std::set<std::string> planned_;
  std::set<std::string> weights_;
  struct stat own_{};
};

}  // namespace

Failure not_a_checkpoint(const fs::path& path) {
  return misuse_hint("another OUT, or remove it yourself",
                     "{}: exists and does not look like a checkpoint; --force replaces only "
                     "checkpoints",
                     path.string());
}

Result<std::vector<std::string>> replaceable_files(const Output& output,
                                                   const ReadOptions& reading) {
  return ReplacedFolder(output).run(reading);
}

Status check_unfinished_folder(const Output& output) {
  const std::set<std::string> planned = planned_names(output);
  return check_temporary_folder(output, [&](const std::string& path) {
    return planned.contains(path) || is_checkpoint_file(path) || is_download_note(path) ||
           is_published_name(path) || path == kReportName;
  });
}

}  // namespace ckpt
