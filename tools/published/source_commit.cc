// Finds the commit of the source repository in what the conversion recorded about the files that it
// read, so that a publication names a commit and not a branch.
#include <algorithm>
#include <set>

#include "core/base/hex.h"
#include "core/io/remembered.h"
#include "remote/remote.h"
#include "tools/published/folder_digests.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kHub = "hf://";

bool is_commit(std::string_view revision) { return revision.size() == 40 && is_hex(revision); }

std::set<std::string> commits_read(const std::string& repository, const fs::path& folder,
                                   const std::vector<FileDigest>& files) {
  std::set<std::string> out;
  for (const FileDigest& file : files) {
    for (const std::string& url : remembered_sources(folder / file.name, file.sha256)) {
      const auto name = parse_hub_name(url);
      if (name && name->repository == repository) out.insert(name->revision);
    }
  }
  return out;
}

}  // namespace

Result<std::string> source_as_read(const std::string& typed, const fs::path& folder,
                                   const std::vector<FileDigest>& files, const Console& console) {
  if (!typed.starts_with(kHub)) return typed;
  CKPT_ASSIGN(const HubName name, parse_hub_name(typed));
  const std::set<std::string> commits = commits_read(name.repository, folder, files);
  const std::string form = fmt::format("--source {}{}@COMMIT", kHub, name.repository);
  if (is_commit(name.revision)) {
    if (commits.empty() || commits.count(name.revision) != 0) return typed;
    return misuse_hint(fmt::format("--source {}{}@{}", kHub, name.repository, *commits.begin()),
                       "--source {}: {} was made from commit {}", typed, folder.string(),
                       fmt::join(commits, ", "));
  }
  if (commits.empty()) {
    console.warn(
        "--source {}: recorded as it is now; ckpt does not know from which commit {} "
        "was made. To name it: {}",
        typed, folder.string(), form);
    return typed;
  }
  if (commits.size() > 1) {
    return misuse_hint(form, "--source {}: {} was made from several commits: {}", typed,
                       folder.string(), fmt::join(commits, ", "));
  }
  return fmt::format("{}{}@{}{}{}", kHub, name.repository, *commits.begin(),
                     name.path.empty() ? "" : "/", name.path);
}

}  // namespace ckpt
