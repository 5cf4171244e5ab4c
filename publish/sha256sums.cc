// Renders SHA256SUMS as GNU sha256sum does (core/base/sha256_sums.cc), and pointers of Git LFS.
#include <algorithm>

#include "core/base/sha256_sums.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '\\' || c == '\n' || c == '\r') out += '\\';
    out += c == '\n' ? 'n' : c == '\r' ? 'r' : c;
  }
  return out;
}

}  // namespace

std::string render_sha256sums(std::vector<FileDigest> files) {
  std::ranges::sort(files, {}, &FileDigest::name);
  std::string out;
  for (const FileDigest& file : files) out += sums_line(file.name, file.sha256) + "\n";
  return out;
}

std::string sums_line(const std::string& name, const std::string& sha256) {
  const std::string shown = escaped(name);
  return fmt::format("{}{}  {}", shown == name ? "" : "\\", sha256, shown);
}

Result<std::vector<FileDigest>> parse_sha256sums(std::string_view text) {
  CKPT_ASSIGN(std::vector<SumsLine> lines, read_sha256_sums(text));
  std::vector<FileDigest> files;
  files.reserve(lines.size());
  for (SumsLine& line : lines) files.push_back({std::move(line.name), std::move(line.sha256)});
  return files;
}

std::string render_lfs_pointer(const FileDigest& file) {
  // The pointer of an empty file is an empty file (git-lfs, spec.md).
  if (file.size_bytes == 0) return "";
  return fmt::format("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
                     file.sha256, file.size_bytes);
}

}  // namespace ckpt
