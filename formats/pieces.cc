// Pieces of bytes of one file, as split and other programs cut them.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "core/base/regex.h"
#include "core/io/paths.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace {

// "m.gguf" of "m.gguf.part1of2"; empty: the name is not that of a piece.
std::string_view whole_of_piece(std::string_view name) {
  static const Result<Regex> kRest = Regex::parse(
      "^[._-](part|split|chunk)?[._-]?(\\d+|[a-z]{1,2})([._-]?of[._-]?\\d+)?$");
  CKPT_CHECK(kRest.has_value());
  for (const std::string_view ending : {".gguf", ".safetensors", ".bin", ".pth"}) {
    const size_t end = name.rfind(ending) + ending.size();
    const bool is_piece = end >= ending.size() && kRest->is_found_in(name.substr(end));
    if (is_piece) return name.substr(0, end);
  }
  return {};
}

}  // namespace

Status refuse_piece(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const std::string whole(whole_of_piece(name));
  if (whole.empty()) return {};
  std::vector<std::string> pieces = list_files(parent_of(path)).value_or(std::vector{name});
  std::erase_if(pieces, [&](const std::string& other) { return whole_of_piece(other) != whole; });
  std::ranges::sort(pieces, {},
                    [](const std::string& each) { return std::pair(each.size(), each); });
  // Copies of one file have such names too, m.gguf.1 and m.gguf.2, but each begins as weights do.
  size_t count = pieces.size();
  if (const size_t of = name.find("of", whole.size()); of != name.npos) {
    count = number_from<size_t>(name.substr(name.find_last_not_of("0123456789") + 1)).value_or(0);
  } else if (count < 2 || kGguf.recognizes(parent_of(path) / pieces[1]) ||
             kSafetensors.recognizes(parent_of(path) / pieces[1])) {
    return {};
  }
  std::string command = pieces.size() < count ? "downloading the others, then cat" : "cat";
  for (const std::string& piece : pieces) {
    command += " " + shell_path((path.parent_path() / piece).string());
  }
  return unsupported_hint(
      fmt::format("{} > {}", command, shell_path((path.parent_path() / whole).string())),
      "{}: one of {} pieces of one file", path.string(), count);
}

}  // namespace ckpt
