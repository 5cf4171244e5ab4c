#include "transforms/gguf_general_yaml.h"

#include <algorithm>
#include <vector>

#include "transforms/gguf_general_yaml_text.h"

namespace ckpt {
namespace {

constexpr uint32_t kMaxDepth = 32;

struct Line {
  size_t number;  // in the text, from 1
  size_t indent;
  std::string_view text;  // behind the indent; comments still in it
};

class Parser {
 public:
  explicit Parser(std::string_view text) {
    size_t number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      const size_t indent = std::min(line.find_first_not_of(' '), line.size());
      lines_.push_back({number, indent, line.substr(indent)});
    }
  }

  Result<JsonValue> parse() {
    skip_empty();
    if (at_ == lines_.size()) return JsonValue();
    CKPT_ASSIGN(JsonValue out, block(lines_[at_].indent, 0));
    skip_empty();
    if (at_ < lines_.size()) return wrong("text that belongs to nothing before it");
    return out;
  }

 private:
  Result<JsonValue> block(size_t indent, uint32_t depth);
  Result<JsonValue> list(size_t indent, uint32_t depth);
  Result<JsonValue> map(size_t indent, uint32_t depth);
  Result<JsonValue> value(std::string_view text, size_t indent, uint32_t depth);
  Result<JsonValue> flow(std::string_view text, size_t indent, uint32_t depth);
  Result<JsonValue> flow_value(std::string_view& text, uint32_t depth);
  Result<JsonValue> flow_list(std::string_view& text, uint32_t depth);
  Result<JsonValue> flow_map(std::string_view& text, uint32_t depth);
  JsonValue block_text(char style, std::string_view header, size_t indent);
  std::string folded(std::string_view first, size_t indent);

  Failure wrong(const char* what) const {
    return fail(ErrorCode::kUnsupported, "line {}: {}",
                at_ < lines_.size() ? lines_[at_].number : lines_.size(), what);
  }
  void skip_empty() {
    while (at_ < lines_.size() &&
           (is_blank(lines_[at_].text) || lines_[at_].text.starts_with('#'))) {
      ++at_;
    }
  }

  std::vector<Line> lines_;
  size_t at_ = 0;
};

bool is_item(std::string_view text) { return text == "-" || text.starts_with("- "); }

Result<JsonValue> Parser::block(size_t indent, uint32_t depth) {
  if (depth > kMaxDepth) return wrong("nested too deeply");
  const std::string_view text = trimmed(lines_[at_].text);
  if (is_item(text)) return list(indent, depth);
  if (key_end(text) != std::string_view::npos) return map(indent, depth);
  ++at_;
  return value(text, indent, depth);
}

Result<JsonValue> Parser::list(size_t indent, uint32_t depth) {
  JsonValue out = JsonValue::array();
  for (skip_empty(); at_ < lines_.size(); skip_empty()) {
    Line& line = lines_[at_];
    if (line.indent != indent || !is_item(trimmed(line.text))) break;
    const size_t inner = line.text.find_first_not_of(' ', 1);
    const bool empty =
        inner == std::string_view::npos || line.text[inner] == '#' || line.text[inner] == '\r';
    if (!empty && key_end(trimmed(line.text.substr(inner))) == std::string_view::npos &&
        !is_item(trimmed(line.text.substr(inner)))) {
      const std::string_view text = trimmed(line.text.substr(inner));
      ++at_;
      CKPT_ASSIGN(JsonValue item, value(text, indent, depth));
      out.push_back(std::move(item));
      continue;
    }
    if (empty) {
      ++at_;
      skip_empty();
      const bool has_more = at_ < lines_.size() && lines_[at_].indent > indent;
      if (!has_more) {
        out.push_back(nullptr);
        continue;
      }
    } else {
      // The item is a block of its own that starts behind the dash.
      line.indent += inner;
      line.text.remove_prefix(inner);
    }
    CKPT_ASSIGN(JsonValue item, block(lines_[at_].indent, depth + 1));
    out.push_back(std::move(item));
  }
  return out;
}

Result<JsonValue> Parser::map(size_t indent, uint32_t depth) {
  JsonValue out = JsonValue::object();
  for (skip_empty(); at_ < lines_.size(); skip_empty()) {
    const Line& line = lines_[at_];
    if (line.indent != indent || is_item(trimmed(line.text))) break;
    const std::string_view text = trimmed(line.text);
    const size_t end = key_end(text);
    if (end == std::string_view::npos) return wrong("a key was expected");
    const std::string_view key = trimmed(text.substr(0, end));
    const bool quoted = !key.empty() && (key[0] == '"' || key[0] == '\'');
    const std::string name = quoted ? unquoted(key) : std::string(key);
    ++at_;
    CKPT_ASSIGN(out[name], value(trimmed(text.substr(end + 1)), indent, depth));
  }
  return out;
}

// What follows a key or a dash: on its line, or as a block on the next ones.
Result<JsonValue> Parser::value(std::string_view text, size_t indent, uint32_t depth) {
  if (text.empty() || text[0] == '#') {
    skip_empty();
    if (at_ == lines_.size()) return JsonValue();
    const Line& next = lines_[at_];
    const bool belongs =
        next.indent > indent || (next.indent == indent && is_item(trimmed(next.text)));
    return belongs ? block(next.indent, depth + 1) : Result<JsonValue>(JsonValue());
  }
  if (text[0] == '|' || text[0] == '>') return block_text(text[0], text.substr(1), indent);
  if (text[0] == '[' || text[0] == '{') return flow(text, indent, depth);
  if (text[0] == '&' || text[0] == '*' || text[0] == '!')
    return wrong("anchors and tags are not read");
  if (text[0] == '"' || text[0] == '\'') {
    std::string whole(text);
    while (closing_quote(whole) == std::string_view::npos) {
      if (at_ == lines_.size()) return wrong("a quote that is not closed");
      whole += ' ';
      whole += trimmed(lines_[at_++].text);
    }
    return JsonValue(unquoted(std::string_view(whole).substr(0, closing_quote(whole) + 1)));
  }
  return plain_scalar(folded(without_comment(text), indent));
}

// A plain scalar goes on over lines that are indented deeper.
std::string Parser::folded(std::string_view first, size_t indent) {
  std::string out(first);
  while (at_ < lines_.size() && lines_[at_].indent > indent && !is_blank(lines_[at_].text) &&
         !lines_[at_].text.starts_with('#') &&
         key_end(trimmed(lines_[at_].text)) == std::string_view::npos) {
    out += ' ';
    out += without_comment(lines_[at_++].text);
  }
  return out;
}

// Folding joins lines with a space, but leaves those alone that are indented deeper.
std::string line_ends(char style, size_t count, bool beside_deeper) {
  if (style == '|' || beside_deeper) return std::string(count, '\n');
  return count == 1 ? " " : std::string(count - 1, '\n');
}

JsonValue Parser::block_text(char style, std::string_view header, size_t indent) {
  std::string out;
  size_t block_indent = 0;
  size_t pending = 0;  // line ends not yet written
  bool was_deeper = false;
  for (; at_ < lines_.size(); ++at_) {
    const Line& line = lines_[at_];
    if (is_blank(line.text)) {
      ++pending;
      continue;
    }
    if (line.indent <= indent) break;
    if (block_indent == 0) block_indent = line.indent;
    const bool deeper = line.indent > block_indent;
    if (out.empty()) {
      out.assign(pending, '\n');
    } else {
      out += line_ends(style, pending, deeper || was_deeper);
    }
    if (deeper) out.append(line.indent - block_indent, ' ');
    out += line.text;
    was_deeper = deeper;
    pending = 1;
  }
  if (!header.starts_with('-') && !out.empty()) out += '\n';
  return out;
}

Result<JsonValue> Parser::flow(std::string_view text, size_t indent, uint32_t depth) {
  std::string whole(text);
  // A list or map may go on over lines; it ends where its brackets do.
  for (;;) {
    std::string_view rest = whole;
    Result<JsonValue> out = flow_value(rest, depth);
    if (out && (trimmed(rest).empty() || trimmed(rest)[0] == '#')) return out;
    const bool has_more =
        at_ < lines_.size() && (lines_[at_].indent > indent || lines_[at_].text.starts_with(']') ||
                                lines_[at_].text.starts_with('}'));
    if (out || !has_more) return wrong("a list or map in brackets that is not closed");
    whole += ' ';
    whole += without_comment(lines_[at_++].text);
  }
}

Result<JsonValue> Parser::flow_value(std::string_view& text, uint32_t depth) {
  if (depth > kMaxDepth) return wrong("nested too deeply");
  text = trimmed(text);
  if (text.empty()) return wrong("a value was expected");
  if (text[0] == '[') return flow_list(text, depth);
  if (text[0] == '{') return flow_map(text, depth);
  if (text[0] == '"' || text[0] == '\'') {
    const size_t end = closing_quote(text);
    if (end == std::string_view::npos) return wrong("a quote that is not closed");
    JsonValue out = unquoted(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    return out;
  }
  size_t end = 0;
  while (end < text.size() && std::string_view(",]}").find(text[end]) == std::string_view::npos &&
         !(text[end] == ':' && (end + 1 == text.size() || text[end + 1] == ' '))) {
    ++end;
  }
  JsonValue out = plain_scalar(trimmed(text.substr(0, end)));
  text.remove_prefix(end);
  return out;
}

Result<JsonValue> Parser::flow_list(std::string_view& text, uint32_t depth) {
  JsonValue out = JsonValue::array();
  text = trimmed(text.substr(1));
  while (!text.starts_with(']')) {
    CKPT_ASSIGN(JsonValue item, flow_value(text, depth + 1));
    out.push_back(std::move(item));
    text = trimmed(text);
    if (text.starts_with(',')) {
      text = trimmed(text.substr(1));
    } else if (!text.starts_with(']')) {
      return wrong("',' or ']' was expected");
    }
  }
  text.remove_prefix(1);
  return out;
}

Result<JsonValue> Parser::flow_map(std::string_view& text, uint32_t depth) {
  JsonValue out = JsonValue::object();
  text = trimmed(text.substr(1));
  while (!text.starts_with('}')) {
    CKPT_ASSIGN(const JsonValue key, flow_value(text, depth + 1));
    text = trimmed(text);
    if (!text.starts_with(':')) return wrong("':' was expected");
    text = trimmed(text.substr(1));
    const std::string name = key.is_string() ? key.get<std::string>() : std::string();
    if (text.starts_with(',') || text.starts_with('}')) {
      out[name] = nullptr;
    } else {
      CKPT_ASSIGN(out[name], flow_value(text, depth + 1));
      text = trimmed(text);
    }
    if (text.starts_with(',')) {
      text = trimmed(text.substr(1));
    } else if (!text.starts_with('}')) {
      return wrong("',' or '}' was expected");
    }
  }
  text.remove_prefix(1);
  return out;
}

}  // namespace

std::optional<std::string> front_matter(std::string_view card) {
  std::string out;
  bool first = true;
  while (!card.empty()) {
    const size_t end = std::min(card.find('\n'), card.size());
    std::string_view line = card.substr(0, end);
    card.remove_prefix(std::min(end + 1, card.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (first && line != "---") return std::nullopt;
    if (!first && line == "---") break;
    if (!first) {
      // YAML has no tabs; cards do.
      for (const char c : line) out += c == '\t' ? std::string("  ") : std::string(1, c);
      out += '\n';
    }
    first = false;
  }
  if (first) return std::nullopt;
  return out;
}

Result<JsonValue> parse_yaml(std::string_view text) { return Parser(text).parse(); }

}  // namespace ckpt
