// SHA256SUMS as GNU sha256sum writes it, a line a file:
//
//   [\] 64 hex digits | space | ' ' or '*' | name | LF
//
// The backslash in front says that in the name \ is written \\, LF \n and CR \r. Other forms that
// `sha256sum -c` accepts are read too: capital digits, comments, and "./" before a name.
// Source: GNU coreutils src/digest.c.
#include "core/base/sha256_sums.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/lines.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr size_t kHexDigits = 64;

bool is_sums_digest(std::string_view hex) {
  return hex.size() == kHexDigits &&
         hex.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// nullopt for an escape that nobody writes.
std::optional<std::string> unescaped_name(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\') {
      out += name[i];
      continue;
    }
    const char c = ++i < name.size() ? name[i] : '\0';
    if (c != '\\' && c != 'n' && c != 'r') return std::nullopt;
    out += c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
  }
  return out;
}

// "./a/b", which `find . -type f` prints, is a/b.
std::string without_dot(std::string_view name) {
  while (name.starts_with("./")) {
    name.remove_prefix(std::min(name.find_first_not_of('/', 1), name.size()));
  }
  return std::string(name);
}

// "SHA256 (name) = hex", or the GNU form.
std::optional<SumsLine> parse_sums_line(std::string_view line) {
  const bool escapes = line.starts_with('\\');
  if (escapes) line.remove_prefix(1);
  constexpr std::string_view kTag = "SHA256 (", kEquals = ") = ";
  std::string_view hex, name;
  if (line.starts_with(kTag)) {
    const size_t close = line.rfind(kEquals);
    if (close == line.npos || close < kTag.size()) return std::nullopt;
    name = line.substr(kTag.size(), close - kTag.size());
    hex = line.substr(close + kEquals.size());
  } else {
    if (line.size() < kHexDigits + 3 || line[kHexDigits] != ' ') return std::nullopt;
    if (line[kHexDigits + 1] != ' ' && line[kHexDigits + 1] != '*') return std::nullopt;
    hex = line.substr(0, kHexDigits);
    name = line.substr(kHexDigits + 2);
  }
  if (!is_sums_digest(hex) || name.empty()) return std::nullopt;
  const auto plain = escapes ? unescaped_name(name) : std::optional<std::string>(name);
  if (!plain || without_dot(*plain).empty()) return std::nullopt;
  return SumsLine{without_dot(*plain), lower_case(hex)};
}

}  // namespace

Result<std::vector<SumsLine>> read_sha256_sums(std::string_view text) {
  std::vector<SumsLine> files;
  std::map<std::string, std::string> digests;  // by name
  for (uint64_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    std::optional<SumsLine> file = parse_sums_line(line);
    if (!file) {
      return corrupt("line {}: expected 64 hex digits, two spaces and a name", number);
    }
    // Which of two digests is the right one, nobody could tell.
    const auto [known, is_new] = digests.try_emplace(file->name, file->sha256);
    if (!is_new && known->second != file->sha256) {
      return corrupt("line {}: {}: listed before with another digest", number, file->name);
    }
    if (is_new) files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace ckpt
