#include "tools/published/published_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/outputs/place.h"
#include "core/patch/journal.h"
#include "core/resume/unfinished.h"
#include "publish/publish.h"
#include "tools/line/commands.h"
#include "tools/published/unpublished.h"

namespace ckpt {
namespace fs = std::filesystem;

namespace {

// Of work that was interrupted, or in a folder of such work.
bool is_left_over(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& part) {
    const std::string name = part.string();
    return name.ends_with(".partial") || name.starts_with(".ckpt-") ||
           name.find(".partial.ledger") != name.npos;
  });
}

}  // namespace

std::string published_name(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  const std::string name = fs::weakly_canonical(fs::absolute(path, error), error)
                               .lexically_relative(fs::canonical(folder, error))
                               .generic_string();
  const bool is_outside = name.empty() || name == "." || name.starts_with("..");
  return is_outside || is_ignored(name, unpublished_paths()) ? "" : name;
}

Result<std::vector<FolderEntry>> list_published(const fs::path& folder) {
  std::vector<std::string> ignored = unpublished_paths();
  ignored.emplace_back(kSumsName);
  ignored.emplace_back(kSignatureName);
  for (const std::string_view name : {kSumsName, kSignatureName, kProvenanceName}) {
    ignored.push_back(temporary_name(name));
  }
  CKPT_ASSIGN(auto entries, list_folder(folder, ignored));
  for (const FolderEntry& entry : entries) {
    const std::string where = (folder / entry.path).string();
    if (entry.kind == FolderEntry::Kind::kLink) {
      const std::string plain = fs::path(folder / "").parent_path().string();
      return misuse_hint(fmt::format("cp -rL {0} {1} && ckpt publish {1}", shell_path(plain),
                                     shell_path(plain + "-files")),
                         "{}: a symbolic link; a published folder holds files", where);
    }
    if (entry.kind == FolderEntry::Kind::kOther) {
      return misuse("{}: neither file nor folder", where);
    }
    if (!is_utf8(entry.path)) {
      return misuse("{}: its name is not UTF-8", where);
    }
    const std::string name = fs::path(entry.path).filename().string();
    if (is_left_over(entry.path)) {
      return misuse_hint("the command that left it, once more",
                         "{}: left by work that was interrupted", where);
    }
    if (entry.size_bytes < 1024 &&
        (has_ending(name, ".safetensors") || has_ending(name, ".gguf"))) {
      CKPT_ASSIGN(const std::string text, read_small(folder / entry.path, 1024));
      if (text.starts_with("version https://git-lfs")) {
        return misuse_hint("git lfs pull", "{}: a git-LFS pointer; expected the weights", where);
      }
    }
    CKPT_TRY(refuse_secret(folder, entry));
  }
  if (entries.empty()) return misuse("{}: an empty folder", folder.string());
  return entries;
}

Status refuse_unfinished_in(const fs::path& folder, const std::vector<FolderEntry>& entries,
                            const std::vector<std::string>& ignored) {
  constexpr std::string_view kStaging = ".ckpt-patch";  // staging_of(): of a file, .NAME before it
  std::set<fs::path> asked;
  for (const FolderEntry& entry : entries) {
    if (is_ignored(entry.path, ignored)) continue;
    fs::path place = folder;
    for (const fs::path& part : fs::path(entry.path)) {
      const std::string name = part.string();
      const fs::path above = std::exchange(place, place / part);
      const bool is_staging = name.starts_with('.') && name.ends_with(kStaging);
      const bool is_new = (is_staging || is_partial_name(name)) && asked.insert(place).second;
      if (!is_new) continue;
      CKPT_TRY(refuse_unfinished_output(place));
      if (!is_staging) continue;
      const bool is_of_folder = name == kStaging;
      CKPT_TRY(refuse_unfinished_patch(
          is_of_folder ? above : above / name.substr(1, name.size() - kStaging.size() - 1)));
    }
  }
  return {};
}

void note_bookkeeping(const fs::path& folder, const std::vector<FolderEntry>& entries,
                      const Console& console) {
  const auto count = std::ranges::count_if(
      entries, [](const FolderEntry& entry) { return entry.path.starts_with(".cache/"); });
  if (count == 0) return;
  const std::string cache = (folder / ".cache").string();
  console.warn(fmt::format("{}: {} published too, and hubs leave such folders out. Try: rm -r {}",
                           cache, count == 1 ? "1 file is" : fmt::format("{} files are", count),
                           shell_path(cache)));
}

}  // namespace ckpt
