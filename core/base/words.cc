#include "core/base/words.h"

#include <fmt/format.h>

namespace ckpt {

bool has_word(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != word.npos) return false;
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || list[at - 1] == ' ';
    if (starts && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

bool ends_with_any(std::string_view text, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings,
                             [&](std::string_view ending) { return text.ends_with(ending); });
}

bool has_ending(std::string_view path, std::string_view ending) {
  if (path.size() <= ending.size()) return false;
  const size_t at = path.size() - ending.size();
  return path[at - 1] != '/' && lower_case(path.substr(at)) == ending;
}

std::vector<std::string> each_name(std::string_view pattern) {
  size_t start = pattern.find('{');
  while (pattern.substr(std::min(start, pattern.size()), 2) == "{}") {
    start = pattern.find('{', start + 1);
  }
  if (start == pattern.npos) return {std::string(pattern)};
  const size_t end = pattern.find('}', start);
  const std::vector<std::string> rests = each_name(pattern.substr(end + 1));
  std::string_view list = pattern.substr(start + 1, end - start - 1);
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(word.size() + 1, list.size()));
    for (const std::string& rest : rests) {
      out.push_back(fmt::format("{}{}{}", pattern.substr(0, start), word, rest));
    }
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from)) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

}  // namespace ckpt
