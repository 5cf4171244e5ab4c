// Checks whether a folder still matches its sums while other programs may change it.
//
// A patch and a publication share no lock. Each announces itself, then checks for the other:
//
//   publish   write sums     ▸ is a patch running, or has a hashed file changed? then no sums
//   patch     lock staging   ▸ have sums appeared since the patch was planned? then no patch
#include <string_view>

#include "core/base/printable.h"
#include "core/patch/journal.h"
#include "publish/publish.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The folder or file whose patch uses the staging folder `staging`; empty if it is not one.
fs::path patched_by(const fs::path& staging) {
  constexpr std::string_view kEnding = ".ckpt-patch";
  const std::string name = staging.filename().string();
  if (name == kEnding) return staging.parent_path();
  if (!name.starts_with('.') || !name.ends_with(kEnding)) return {};
  return staging.parent_path() / name.substr(1, name.size() - 1 - kEnding.size());
}

Status refuse_patch(const fs::path& path) {
  CKPT_TRY(refuse_unfinished_patch(path));
  const std::string shown = shell_path(path.string());
  return misuse_hint(
      fmt::format("again when it is done, or ckpt patch {} if it was interrupted", shown),
      "{}: a patch has it in hand", path.string());
}

}  // namespace

Status refuse_patches(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const bool is_folder = entry->symlink_status(error).type() == fs::file_type::directory;
    if (error) break;
    if (!is_folder) continue;
    const fs::path patched = patched_by(entry->path());
    if (!patched.empty()) return refuse_patch(patched);
    const std::string name = entry->path().lexically_relative(folder).generic_string();
    if (is_ignored(name, unpublished_paths())) entry.disable_recursion_pending();
  }
  return error ? io_failure(folder, "cannot be listed", error.value()) : Status();
}

Status check_as_hashed(const fs::path& folder, const std::map<std::string, FileState>& states,
                       const std::set<std::string>& made) {
  CKPT_TRY(refuse_patches(folder));
  for (const auto& [name, state] : states) CKPT_TRY(check_unchanged(folder / name, state));
  PathSet own = publication_temporaries();
  own.emplace(kSumsName);
  own.emplace(kSignatureName);
  CKPT_ASSIGN(const auto entries, list_publishable(folder, own));
  for (const FolderEntry& entry : entries) {
    const bool is_known = states.contains(entry.path) || made.contains(entry.path);
    if (is_known || own_file(entry.path) == OwnFile::kLeftover) continue;
    return fail_with_hint(ErrorCode::kIo, "the same command again",
                          "{}: appeared while the folder was published",
                          (folder / entry.path).string());
  }
  return {};
}

}  // namespace ckpt
