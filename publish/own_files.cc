// Recognizes ckpt's own records and remains of unfinished work in a folder, which are not
// published.
#include <algorithm>
#include <string>

#include "publish/publish.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

bool is_of_unfinished_work(std::string_view name) {
  return name.ends_with(".partial") || name.find(".partial.ledger") != name.npos ||
         name.starts_with(".ckpt-") || (name.starts_with('.') && name.ends_with(".ckpt-patch"));
}

}  // namespace

OwnFile own_file(const fs::path& path) {
  const auto is_left = [](const fs::path& part) { return is_of_unfinished_work(part.string()); };
  if (std::ranges::any_of(path, is_left)) return OwnFile::kLeftover;
  const std::string name = path.filename().string();
  const bool is_record = name.starts_with('.') && name.ends_with(kRecordEnding);
  return is_record ? OwnFile::kRecord : OwnFile::kNone;
}

PathSet unpublished_paths() { return {".git", ".gitattributes", ".github", ".gitignore"}; }

Result<std::vector<FolderEntry>> list_publishable(const fs::path& folder, const PathSet& ignored) {
  PathSet left_out = unpublished_paths();
  left_out.insert(ignored.begin(), ignored.end());
  CKPT_ASSIGN(auto entries, list_folder(folder, left_out));
  std::erase_if(entries,
                [](const FolderEntry& entry) { return own_file(entry.path) == OwnFile::kRecord; });
  return entries;
}

}  // namespace ckpt
