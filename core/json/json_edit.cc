#include "core/json/json_edit.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/json/json_fault.h"
#include "core/json/json_python.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace {

constexpr uint32_t kMaxDepth = 128;
constexpr size_t kMaxIndent = 16;  // a file may claim any, and each line would pay for it

std::string quote(std::string_view text, bool ascii) {
  using nlohmann::json;
  return json(std::string(text)).dump(-1, ' ', ascii, json::error_handler_t::replace);
}
std::string quote_ascii(std::string_view text) { return quote(text, true); }

// Text of a token with its quotes; nullopt when it is no string.
std::optional<std::string> unquote(const std::string& token) {
  if (token.empty() || token[0] != '"') return std::nullopt;
  const auto parsed = nlohmann::json::parse(token, nullptr, false);
  const auto* text = parsed.get_ptr<const std::string*>();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::string_view line_end(const JsonStyle& style) { return style.crlf ? "\r\n" : "\n"; }

bool is_scalar(std::string_view token) {
  if (find_foreign_byte(token)) return false;
  if (token == "NaN" || token == "Infinity" || token == "-Infinity") return true;
  if (is_json_number(token)) return true;  // beyond the range of a double too, as Python reads it
  return !nlohmann::json::parse(token, nullptr, false).is_discarded();
}

}  // namespace

// Recursive descent; depth is bounded.
class JsonTextParser {
 public:
  explicit JsonTextParser(std::string_view text) : text_(text) {}

  Result<JsonText> run() {
    CKPT_ASSIGN(JsonText out, value(0));
    peek();
    if (at_ != text_.size()) return bad();
    return out;
  }

 private:
  // The next character that is no space, 0 at the end.
  char peek() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Failure bad() const { return not_json(text_); }

  Result<JsonText> value(uint32_t depth) {
    if (depth > kMaxDepth) {
      return fail(ErrorCode::kCorrupt, "nested deeper than {} levels", kMaxDepth);
    }
    const char c = peek();
    if (c == '{') return object(depth);
    if (c == '[') return array(depth);
    JsonText out;
    CKPT_ASSIGN(out.token_, token());
    return out;
  }

  Result<std::string> token() {
    const size_t start = at_;
    if (peek() == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\') ++at_;
      }
      at_ = std::min(at_ + 1, text_.size());
    } else {
      while (at_ < text_.size() && !is_json_space(text_[at_]) &&
             std::string_view(",:]}[{\"").find(text_[at_]) == std::string_view::npos) {
        ++at_;
      }
    }
    std::string out(text_.substr(start, at_ - start));
    if (!is_scalar(out)) return bad();
    return out;
  }

  // True after a comma, false at `close`.
  Result<bool> more(char close) {
    const char c = peek();
    if (c != ',' && c != close) return bad();
    ++at_;
    return c == ',';
  }

  // Called behind the closing bracket of what started at `start`.
  bool one_line(size_t start) const {
    return text_.substr(start, at_ - start).find('\n') == text_.npos;
  }

  Result<JsonText> array(uint32_t depth) {
    JsonText out = JsonText::array();
    const size_t start = at_++;
    if (peek() == ']') {
      ++at_;
      return out;
    }
    for (bool again = true; again;) {
      CKPT_ASSIGN(JsonText item, value(depth + 1));
      out.items_.push_back(std::move(item));
      CKPT_ASSIGN(again, more(']'));
    }
    out.was_one_line_ = one_line(start);
    return out;
  }

  Result<JsonText> object(uint32_t depth) {
    JsonText out = JsonText::object();
    const size_t start = at_++;
    if (peek() == '}') {
      ++at_;
      return out;
    }
    for (bool again = true; again;) {
      if (peek() != '"') return bad();
      CKPT_ASSIGN(const std::string key, token());
      if (peek() != ':') return bad();
      ++at_;
      CKPT_ASSIGN(JsonText item, value(depth + 1));
      out.members_.emplace_back(unquote(key).value_or(""), std::move(item));
      CKPT_ASSIGN(again, more('}'));
    }
    out.was_one_line_ = one_line(start);
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
};

JsonText JsonText::text(std::string_view value) {
  JsonText out;
  out.token_ = quote_ascii(value);
  return out;
}

JsonText JsonText::number(uint64_t value) {
  JsonText out;
  out.token_ = fmt::format("{}", value);
  return out;
}

JsonText JsonText::boolean(bool value) {
  JsonText out;
  out.token_ = value ? "true" : "false";
  return out;
}

JsonText JsonText::array() {
  JsonText out;
  out.kind_ = Kind::kArray;
  return out;
}

JsonText JsonText::texts(const std::vector<std::string>& values) {
  JsonText out = array();
  for (const std::string& value : values) out.items_.push_back(text(value));
  return out;
}

JsonText JsonText::object() {
  JsonText out;
  out.kind_ = Kind::kObject;
  return out;
}

Result<JsonText> JsonText::parse(std::string_view text) { return JsonTextParser(text).run(); }

// keep_lines: what was parsed from one line stays on one, with all that was put into it since.
struct JsonText::Layout {
  JsonStyle style;
  bool keep_lines;
  bool one_line;  // what this stands in is on one
};

std::string JsonText::dump(uint32_t indent) const {
  std::string out;
  append_to(out, {{indent, false, true, true}, false, indent == 0}, 0);
  return out;
}

std::string JsonText::dump(const JsonStyle& style) const {
  std::string out;
  append_to(out, {style, true, style.indent == 0}, 0);
  if (style.ends_with_newline) out += line_end(style);
  return out;
}

void JsonText::append_to(std::string& out, const Layout& layout, uint32_t depth) const {
  if (kind_ == Kind::kToken) {
    out += token_;
    return;
  }
  const bool is_array = kind_ == Kind::kArray;
  const size_t count = is_array ? items_.size() : members_.size();
  const JsonStyle& style = layout.style;
  const bool one_line = layout.one_line || (layout.keep_lines && was_one_line_);
  const Layout inner{style, layout.keep_lines, one_line};
  const auto new_line = [&](uint32_t level) {
    out += line_end(style);
    out.append(size_t{style.indent} * level, style.tabs ? '\t' : ' ');
  };
  out += is_array ? '[' : '{';
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) out += one_line && style.spaced ? ", " : ",";
    if (!one_line) new_line(depth + 1);
    if (!is_array) {
      out += quote(members_[i].first, style.ascii);
      out += one_line && !style.spaced ? ":" : ": ";
    }
    (is_array ? items_[i] : members_[i].second).append_to(out, inner, depth + 1);
  }
  if (count != 0 && !one_line) new_line(depth);
  out += is_array ? ']' : '}';
}

bool JsonText::operator==(const JsonText& other) const {
  return kind_ == other.kind_ && (kind_ != Kind::kToken || token_ == other.token_) &&
         items_ == other.items_ && members_ == other.members_;
}

JsonStyle json_style_of(std::string_view text) {
  JsonStyle style;
  style.ends_with_newline = !text.empty() && text.back() == '\n';
  style.ascii = std::all_of(text.begin(), text.end(),
                            [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const size_t line = text.find('\n');
  const size_t member = line == text.npos ? text.npos : text.find_first_not_of(" \r\n\t", line);
  const size_t indent = member == text.npos ? 0 : member - text.rfind('\n', member) - 1;
  style.indent = static_cast<uint32_t>(std::min(indent, kMaxIndent));
  style.tabs = indent != 0 && text[member - 1] == '\t';
  style.crlf = line != text.npos && line != 0 && text[line - 1] == '\r';
  style.spaced = text.find("\": ") != text.npos || text.find("\":") == text.npos;
  return style;
}

const JsonText* JsonText::find(std::string_view key) const {
  const auto found = std::find_if(members_.rbegin(), members_.rend(),
                                  [&](const Member& member) { return member.first == key; });
  return found == members_.rend() ? nullptr : &found->second;
}

JsonText* JsonText::find(std::string_view key) {
  return const_cast<JsonText*>(std::as_const(*this).find(key));
}

std::optional<std::string> JsonText::as_text() const {
  return kind_ == Kind::kToken ? unquote(token_) : std::nullopt;
}

std::optional<std::string> JsonText::find_text(std::string_view key) const {
  const JsonText* found = find(key);
  return found == nullptr ? std::nullopt : found->as_text();
}

std::optional<uint64_t> JsonText::as_whole() const {
  if (kind_ != Kind::kToken) return std::nullopt;
  uint64_t value = 0;
  const char* end = token_.data() + token_.size();
  const auto parsed = std::from_chars(token_.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> JsonText::find_whole(std::string_view key) const {
  const JsonText* found = find(key);
  return found == nullptr ? std::nullopt : found->as_whole();
}

std::optional<bool> JsonText::as_boolean() const {
  if (kind_ != Kind::kToken || (token_ != "true" && token_ != "false")) return std::nullopt;
  return token_ == "true";
}

void JsonText::set(std::string_view key, JsonText value) {
  if (JsonText* found = find(key)) {
    *found = std::move(value);
  } else {
    members_.emplace_back(std::string(key), std::move(value));
  }
}

void JsonText::set_sorted(std::string_view key, JsonText value) {
  if (JsonText* found = find(key)) {
    *found = std::move(value);
    return;
  }
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& member) { return member.first > key; });
  members_.emplace(at, std::string(key), std::move(value));
}

void JsonText::set_after(std::string_view before, std::string_view key, JsonText value) {
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& member) { return member.first == before; });
  if (find(key) != nullptr || at == members_.end()) return set(key, std::move(value));
  members_.emplace(std::next(at), std::string(key), std::move(value));
}

bool JsonText::rename(std::string_view key, std::string_view name) {
  if (find(key) == nullptr) return false;
  if (key == name) return true;
  remove(name);
  for (Member& member : members_) {
    if (member.first == key) member.first = name;
  }
  return true;
}

bool JsonText::remove(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.first == key; }) != 0;
}

Result<std::optional<JsonDocument>> read_json(const Checkpoint& checkpoint, std::string_view path) {
  const Document* document = checkpoint.find_document(path);
  if (document == nullptr) return std::optional<JsonDocument>();
  CKPT_ASSIGN(JsonText root, in(path, JsonText::parse(*document->content)));
  if (!root.is_object()) {
    return fail(ErrorCode::kCorrupt, "{}: JSON, but no object; expected one", path);
  }
  return std::optional(JsonDocument{std::move(root), json_style_of(*document->content)});
}

void write_json(Checkpoint& checkpoint, std::string_view path, const JsonDocument& document) {
  const Document* old = checkpoint.find_document(path);
  if (old != nullptr) {
    const Result<JsonText> said = JsonText::parse(*old->content);
    if (said && *said == document.root) return;
  }
  checkpoint.set_document(std::string(path), document.root.dump(document.style));
}

}  // namespace ckpt
