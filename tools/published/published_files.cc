#include "tools/published/published_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/glob.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/io/paths.h"
#include "core/outputs/place.h"
#include "core/patch/journal.h"
#include "core/resume/unfinished.h"
#include "publish/publish.h"
#include "tools/line/commands.h"
#include "tools/published/unpublished.h"

namespace ckpt {
namespace fs = std::filesystem;

namespace {

// Whether a copy can replace the link: it neither dangles nor leads to a folder around it.
bool leads_to_files(const fs::path& link, const fs::path& folder) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  if (error) return false;
  if (fs::is_regular_file(target, error)) return true;
  const fs::path place = real_place(link.parent_path());
  return fs::is_directory(target, error) && !is_within(real_place(folder), target) &&
         !is_within(place, target);
}

// The error for a link. It advises to look at its target before copying it, because somebody may
// have made a link to a secret that only this user can read.
Failure link_among_files(const fs::path& folder, const FolderEntry& entry) {
  const fs::path link = folder / entry.path, target = link.parent_path() / entry.target;
  const bool has_files = leads_to_files(link, folder);
  const std::string shown = shell_path(link.string());
  const std::string copy =
      fmt::format(" && {} {} {}, after looking at what that copies",
                  is_folder(target) ? "cp -rH" : "cp", shell_path(target.string()), shown);
  return misuse_hint(fmt::format("rm {}{}", shown, has_files ? copy : ""),
                     "{}: a symbolic link to {}{}; a published folder holds files", link.string(),
                     entry.target, has_files ? "" : ", which cannot be copied");
}

// Whether Windows rejects the name: names of devices and names with reserved characters.
bool is_invalid_on_windows(const fs::path& path) {
  static const GlobList devices(
      split_words<std::string>("con prn aux nul com[1-9] lpt[1-9] con.* prn.* aux.* nul.* "
                               "com[1-9].* lpt[1-9].*"));
  return std::ranges::any_of(path, [](const fs::path& part) {
    const std::string name = lower_case(part.string());
    return devices.matches_any(name) || name.ends_with(' ') || name.ends_with('.') ||
           std::ranges::any_of(name, [](char c) {
             return static_cast<unsigned char>(c) < ' ' ||
                    std::string_view("<>:\"|?*\\").find(c) != std::string_view::npos;
           });
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

PathSet publication_temporaries() {
  return {temporary_name(kSumsName), temporary_name(kSignatureName),
          temporary_name(kProvenanceName)};
}

Result<std::vector<std::string>> list_records(const fs::path& folder) {
  CKPT_ASSIGN(const auto entries, list_folder(folder, unpublished_paths()));
  std::vector<std::string> out;
  for (const FolderEntry& entry : entries) {
    if (own_file(entry.path) == OwnFile::kRecord) out.push_back(entry.path);
  }
  return out;
}

Result<std::vector<FolderEntry>> list_published(const fs::path& folder) {
  PathSet ignored = publication_temporaries();
  ignored.emplace(kSumsName);
  ignored.emplace(kSignatureName);
  CKPT_ASSIGN(auto entries, list_publishable(folder, ignored));
  for (const FolderEntry& entry : entries) {
    const std::string where = (folder / entry.path).string();
    if (entry.kind == FolderEntry::Kind::kLink) return link_among_files(folder, entry);
    if (entry.kind == FolderEntry::Kind::kOther) {
      return misuse("{}: neither file nor folder", where);
    }
    if (!is_utf8(entry.path)) {
      return misuse("{}: its name is not UTF-8", where);
    }
    if (own_file(entry.path) == OwnFile::kLeftover) {
      return misuse_hint("the command that left it, once more",
                         "{}: left by work that was interrupted", where);
    }
    if (entry.size_bytes < 1024) {
      CKPT_ASSIGN(const std::string text, read_small(folder / entry.path, 1024));
      if (text.starts_with("version https://git-lfs")) {
        return misuse_hint("git lfs pull", "{}: a git-LFS pointer; expected the file itself",
                           where);
      }
    }
    CKPT_TRY(refuse_secret(folder, entry));
  }
  if (entries.empty()) return misuse("{}: an empty folder", folder.string());
  return entries;
}

Status refuse_unfinished_in(const fs::path& folder, const std::vector<FolderEntry>& entries,
                            const PathSet& ignored) {
  constexpr std::string_view kStaging = ".ckpt-patch";  // after .NAME for a file
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

void note_foreign_names(const fs::path& folder, const std::vector<FolderEntry>& entries,
                        const Console& console) {
  constexpr size_t kShown = 8;
  std::map<std::string, std::string> known;  // by lower-case name
  std::vector<std::string> equal, impossible;
  for (const FolderEntry& entry : entries) {
    const auto [first, is_new] = known.emplace(lower_case(entry.path), entry.path);
    if (!is_new) equal.push_back(fmt::format("{} and {}", first->second, entry.path));
    if (is_invalid_on_windows(entry.path)) impossible.push_back(entry.path);
  }
  const auto tell = [&](const std::vector<std::string>& names, std::string_view what) {
    if (names.empty()) return;
    console.warn("{}: {}: {}", folder.string(), what, first_names(names, kShown));
  };
  tell(equal, "names that macOS and Windows do not tell apart");
  tell(impossible, "names that Windows does not have");
}

void note_bookkeeping(const fs::path& folder, const std::vector<FolderEntry>& entries,
                      const Console& console) {
  const auto count = std::ranges::count_if(
      entries, [](const FolderEntry& entry) { return entry.path.starts_with(".cache/"); });
  if (count == 0) return;
  const std::string cache = (folder / ".cache").string();
  console.warn("{}: {} published too, and hubs leave such folders out. Try: rm -r {}", cache,
               count == 1 ? "1 file is" : fmt::format("{} files are", count), shell_path(cache));
}

}  // namespace ckpt
