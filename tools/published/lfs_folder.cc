#include "tools/published/lfs_folder.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/base/sha256.h"
#include "core/io/open_folder.h"
#include "core/io/shift.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The pattern of gitattributes(5) that matches this one name: what globs mean is escaped, and what
// would end the pattern is put into C-style quotes.
std::string attributes_pattern(std::string_view name) {
  std::string pattern = "/";
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  const auto ends_pattern = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\x7f';
  };
  if (std::none_of(pattern.begin(), pattern.end(), ends_pattern)) return pattern;
  std::string quoted = "\"";
  for (const char c : pattern) {
    if (c != ' ' && c != '"' && ends_pattern(c)) {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

Status write_below(const OpenFolder& folder, const fs::path& from,
                   const std::vector<FileDigest>& files) {
  std::string attributes;
  std::set<std::string> folders;
  for (const FileDigest& file : files) {
    const std::string above = fs::path(file.name).parent_path().string();
    if (!above.empty() && folders.insert(above).second) CKPT_TRY(folder.make_folder(above));
    const bool is_weights = file.name.ends_with(".safetensors") || file.name.ends_with(".gguf");
    std::string text;
    if (is_weights || file.size_bytes >= kLargestGitFileBytes) {
      text = render_lfs_pointer(file);
      attributes +=
          fmt::format("{} filter=lfs diff=lfs merge=lfs -text\n", attributes_pattern(file.name));
    } else {
      CKPT_ASSIGN(text, read_small(from / file.name, kLargestGitFileBytes));
      if (sha256_of(text) != file.sha256) {
        return fail(ErrorCode::kIo, "{}: was changed while it was published",
                    (from / file.name).string());
      }
    }
    CKPT_TRY(write_synced({folder, file.name}, std::as_bytes(std::span(text))));
  }
  CKPT_TRY(write_synced({folder, ".gitattributes"}, std::as_bytes(std::span(attributes))));
  for (const std::string& each : folders) CKPT_TRY(folder.sync(each));
  return folder.sync();
}

// The result of write_below() becomes an output of `parent`.
Status publish_below(const OpenFolder& folder, const OpenFolder& parent,
                     const std::vector<FileDigest>& files) {
  std::set<std::string> names{".gitattributes"};
  for (const FileDigest& file : files) {
    for (fs::path name = file.name; !name.empty(); name = name.parent_path()) {
      names.insert(name.string());
    }
  }
  for (const std::string& name : names) {
    CKPT_TRY(folder.publish_mode(name));
    CKPT_TRY(folder.publish_owner(name, parent));
  }
  return folder.publish_mode({});
}

}  // namespace

// Next to its final name first, then renamed.
Status write_lfs_folder(const std::string& path, const fs::path& from,
                        const std::vector<FileDigest>& files) {
  std::error_code error;
  fs::path lfs = fs::weakly_canonical(path, error);
  if (error) return fail(ErrorCode::kIo, "--lfs {}: {}", path, error.message());
  if (!lfs.has_filename()) lfs = lfs.parent_path();
  fs::create_directories(lfs.parent_path(), error);
  CKPT_ASSIGN(const OpenFolder parent, OpenFolder::open(lfs.parent_path()));
  const std::string name = lfs.filename().string();
  // No other program's, and no other command's: what has this name is removed.
  const std::string temporary = fmt::format(".ckpt-lfs-{}.partial", name);
  CKPT_TRY(require_ours(parent.path() / temporary, Guard::kOwner));
  fs::remove_all(parent.path() / temporary, error);  // of an earlier run that was killed
  const auto write = [&]() -> Status {
    CKPT_ASSIGN(const OpenFolder folder, parent.open_private(temporary));
    CKPT_TRY(write_below(folder, from, files));
    CKPT_TRY(publish_below(folder, parent, files));
    CKPT_TRY(parent.rename(temporary, name));
    return folder.publish_owner({}, parent);
  };
  if (Status done = write(); !done) {
    fs::remove_all(parent.path() / temporary, error);
    return done;
  }
  return parent.sync();
}

}  // namespace ckpt
