#include "remote/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ckpt {
namespace {

// Decodes "&amp;" and "&#x2f;".
std::string xml_decoded(std::string_view text) {
  constexpr std::pair<std::string_view, char> kNames[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  std::string out;
  while (!text.empty()) {
    const size_t end = text[0] == '&' ? text.find(';') : text.npos;
    if (end == text.npos || end > 9) {
      out.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view name = text.substr(1, end - 1);
    for (const auto& [known, character] : kNames) {
      if (name == known) out.push_back(character);
    }
    unsigned code = 0;
    const bool is_hex = name.starts_with("#x");
    const std::string_view digits = name.substr(std::min<size_t>(is_hex ? 2 : 1, name.size()));
    if (name.starts_with('#')) {
      std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
      if (code > 0 && code < 0x80) out.push_back(static_cast<char>(code));
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
  std::vector<std::string_view> out;
  for (size_t at = xml.find(open); at != xml.npos; at = xml.find(open, at)) {
    const size_t begin = at + open.size(), end = xml.find(close, begin);
    if (end == xml.npos) break;
    out.push_back(xml.substr(begin, end - begin));
    at = end;
  }
  return out;
}

std::string xml_element(std::string_view xml, std::string_view name) {
  const auto all = xml_elements(xml, name);
  return all.empty() ? std::string() : xml_decoded(all.front());
}

}  // namespace ckpt
