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
  Result<JsonValue> quoted(std::string_view text);
  Result<JsonValue> flow(std::string_view text, size_t indent, uint32_t depth);
  Result<JsonValue> flow_value(uint32_t depth);
  Result<JsonValue> flow_list(uint32_t depth);
  Result<JsonValue> flow_map(uint32_t depth);
  Result<JsonValue> flow_quoted();
  JsonValue flow_scalar();
  bool add_flow_line();
  char flow_next();
  bool takes(char c);
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

  // A list or map in brackets, as far as its lines have been asked for.
  struct Flow {
    std::string text;
    size_t at = 0;
    size_t indent = 0;  // of the line that it began on
  };

  std::vector<Line> lines_;
  size_t at_ = 0;
  Flow flow_;
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
  if (text[0] == '"' || text[0] == '\'') return quoted(text);
  return plain_scalar(folded(without_comment(text), indent));
}

Result<JsonValue> Parser::quoted(std::string_view text) {
  std::string whole(text);
  size_t end = 1;
  while (!find_closing_quote(whole, end)) {
    if (at_ == lines_.size()) return wrong("a quote that is not closed");
    whole += ' ';
    whole += trimmed(lines_[at_++].text);
  }
  return JsonValue(unquoted(std::string_view(whole).substr(0, end + 1)));
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

// A list or map may go on over lines; it ends where its brackets do. Lines are taken when what is
// there has been read, and none is read twice.
Result<JsonValue> Parser::flow(std::string_view text, size_t indent, uint32_t depth) {
  flow_ = {std::string(text), 0, indent};
  CKPT_ASSIGN(JsonValue out, flow_value(depth));
  const std::string_view rest = trimmed(std::string_view(flow_.text).substr(flow_.at));
  if (rest.empty() || rest[0] == '#') return out;
  return wrong("text behind a list or map in brackets");
}

bool Parser::add_flow_line() {
  const bool has_more = at_ < lines_.size() &&
                        (lines_[at_].indent > flow_.indent || lines_[at_].text.starts_with(']') ||
                         lines_[at_].text.starts_with('}'));
  if (!has_more) return false;
  flow_.text += ' ';
  flow_.text += without_comment(lines_[at_++].text);
  return true;
}

// The next character that is no space; 0 when there is none.
char Parser::flow_next() {
  do {
    flow_.at = std::min(flow_.text.find_first_not_of(" \r", flow_.at), flow_.text.size());
  } while (flow_.at == flow_.text.size() && add_flow_line());
  return flow_.at == flow_.text.size() ? '\0' : flow_.text[flow_.at];
}

bool Parser::takes(char c) {
  if (flow_next() != c) return false;
  ++flow_.at;
  return true;
}

Result<JsonValue> Parser::flow_value(uint32_t depth) {
  if (depth > kMaxDepth) return wrong("nested too deeply");
  switch (flow_next()) {
    case '\0':
      return wrong("a list or map in brackets that is not closed");
    case '[':
      return flow_list(depth);
    case '{':
      return flow_map(depth);
    case '"':
    case '\'':
      return flow_quoted();
    default:
      return flow_scalar();
  }
}

Result<JsonValue> Parser::flow_quoted() {
  size_t end = 1;
  const size_t begin = flow_.at;
  while (!find_closing_quote(std::string_view(flow_.text).substr(begin), end)) {
    if (!add_flow_line()) return wrong("a quote that is not closed");
  }
  flow_.at = begin + end + 1;
  return JsonValue(unquoted(std::string_view(flow_.text).substr(begin, end + 1)));
}

JsonValue Parser::flow_scalar() {
  const std::string& text = flow_.text;
  const size_t begin = flow_.at;
  const auto goes_on = [&](size_t at) {
    const bool ends_key = text[at] == ':' && (at + 1 == text.size() || text[at + 1] == ' ');
    return !ends_key && std::string_view(",]}").find(text[at]) == std::string_view::npos;
  };
  size_t end = begin;
  do {
    while (end < text.size() && goes_on(end)) ++end;
  } while (end == text.size() && add_flow_line());
  flow_.at = end;
  return plain_scalar(trimmed(std::string_view(text).substr(begin, end - begin)));
}

Result<JsonValue> Parser::flow_list(uint32_t depth) {
  JsonValue out = JsonValue::array();
  ++flow_.at;
  while (!takes(']')) {
    CKPT_ASSIGN(JsonValue item, flow_value(depth + 1));
    out.push_back(std::move(item));
    if (!takes(',') && flow_next() != ']') return wrong("',' or ']' was expected");
  }
  return out;
}

Result<JsonValue> Parser::flow_map(uint32_t depth) {
  JsonValue out = JsonValue::object();
  ++flow_.at;
  while (!takes('}')) {
    CKPT_ASSIGN(const JsonValue key, flow_value(depth + 1));
    if (!takes(':')) return wrong("':' was expected");
    const std::string name = key.is_string() ? key.get<std::string>() : std::string();
    const char next = flow_next();
    if (next == ',' || next == '}') {
      out[name] = nullptr;
    } else {
      CKPT_ASSIGN(out[name], flow_value(depth + 1));
    }
    if (!takes(',') && flow_next() != '}') return wrong("',' or '}' was expected");
  }
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
