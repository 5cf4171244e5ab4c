// Opens documents of a folder that are links, if the links lead to an allowed place.
#include <fcntl.h>

#include <optional>

#include "core/io/folder.h"
#include "core/io/open_folder.h"
#include "core/io/remote_files.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The folder that `target` may be opened in, without links from there on. Both are canonical.
std::optional<fs::path> root_of(const fs::path& folder, const fs::path& target) {
  if (target != folder && is_within(target, folder)) return folder;
  const fs::path repository = folder.parent_path().parent_path();
  const bool is_snapshot = folder.parent_path().filename() == "snapshots";
  if (is_snapshot && target.parent_path() == repository / "blobs") return repository / "blobs";
  return std::nullopt;
}

}  // namespace

Result<SharedSource> open_document(const fs::path& folder, const std::string& path,
                                   const ReadOptions& options) {
  const fs::path named = folder / path;
  if (options.follow_links || is_url(folder)) return open_file(named);
  std::error_code error;
  const fs::path own = fs::canonical(folder, error);
  if (error) return open_failure(folder, error.value());
  const fs::path target = fs::canonical(named, error);
  if (error) return open_failure(named, error.value());
  const auto root = root_of(own, target);
  if (!root) {
    return misuse_hint("--follow-links, to read it anyway", "{}: leads out of its folder, to {}",
                       named.string(), target.string());
  }
  // A link that is swapped in between leads nowhere: from the root on none is followed.
  CKPT_ASSIGN(const OpenFolder opened, OpenFolder::open(*root));
  auto file = opened.open_file(target.lexically_relative(*root).string(), O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (file.error().remedy == Remedy::kOtherOut) file.error().hint.clear();
    return Failure(std::move(file.error()));
  }
  return open_file(std::move(*file), named);
}

}  // namespace ckpt
