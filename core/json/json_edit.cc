#include "core/json/json_edit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/json/json_reader.h"
#include "core/json/json_string.h"

namespace ckpt {
namespace {

constexpr size_t kMaxIndent = 16;  // limit, because every line would be indented

std::string_view line_end(const JsonStyle& style) { return style.crlf ? "\r\n" : "\n"; }

}  // namespace

class JsonText::Builder final : public JsonSink {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  JsonText take() { return std::move(root_); }

  bool scalar(std::string_view spelling) override {
    place({})->token_ = spelling;
    return true;
  }
  bool key(std::string_view spelling) override {
    key_ = json_unquoted(spelling);
    return true;
  }
  bool open(char bracket, size_t at_byte) override {
    open_.push_back({place(bracket == '{' ? object() : array()), at_byte});
    return true;
  }
  bool close(size_t end_byte) override {
    const auto [node, at_byte] = open_.back();
    const bool is_empty = node->items_.empty() && node->members_.empty();
    const std::string_view spelling = text_.substr(at_byte, end_byte - at_byte);
    node->was_one_line_ = !is_empty && spelling.find('\n') == spelling.npos;
    open_.pop_back();
    return true;
  }

 private:
  struct Open {
    JsonText* node;
    size_t at_byte;
  };

  JsonText* place(JsonText node) {
    if (open_.empty()) return &(root_ = std::move(node));
    JsonText& parent = *open_.back().node;
    if (parent.is_array()) return &parent.items_.emplace_back(std::move(node));
    return &parent.members_.emplace_back(std::move(key_), std::move(node)).second;
  }

  std::string_view text_;
  JsonText root_;
  std::vector<Open> open_;
  std::string key_;
};

JsonText JsonText::text(std::string_view value) {
  return JsonText(json_quoted(value, JsonEscape::kPython));
}
JsonText JsonText::boolean(bool value) { return JsonText(value ? "true" : "false"); }

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

JsonText JsonText::object(std::vector<Member> members) {
  JsonText out;
  out.kind_ = Kind::kObject;
  out.members_ = std::move(members);
  return out;
}

Result<JsonText> JsonText::parse(std::string_view text, Status* set_twice) {
  Builder builder(text);
  CKPT_TRY(json_status(read_json_events(text, &builder), text, set_twice));
  return builder.take();
}

JsonValue JsonText::value() const {
  if (kind_ == Kind::kToken) return json_scalar(token_);
  JsonValue out = is_array() ? JsonValue::array() : JsonValue::object();
  for (const JsonText& item : items_) out.push_back(item.value());
  for (const auto& [key, item] : members_) out[key] = item.value();
  return out;
}

// With keep_lines, a value parsed from one line stays on one line, even with added content.
struct JsonText::Layout {
  JsonStyle style;
  bool keep_lines;
  bool one_line;  // the enclosing value is on one line
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
  const JsonEscape keys = style.ascii ? JsonEscape::kPython : JsonEscape::kSerde;
  out += is_array ? '[' : '{';
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) out += one_line && style.spaced ? ", " : ",";
    if (!one_line) new_line(depth + 1);
    if (!is_array) {
      append_json_text(out, members_[i].first, keys);
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

Status check_numbers(const JsonText& json) {
  if (json.kind() == JsonText::Kind::kToken) {
    const std::string spelled = json.dump(0);
    const JsonValue value = json.value();
    if (value.is_number() && std::isinf(value.get<double>()) && spelled.find('I') == spelled.npos) {
      return misuse("{} is larger than any 64-bit float", spelled.substr(0, 40));
    }
  }
  for (const auto& [key, value] : json.members()) CKPT_TRY(check_numbers(value));
  for (const JsonText& item : json.items()) CKPT_TRY(check_numbers(item));
  return {};
}

void visit_differences(const JsonText& a, const JsonText& b, const JsonDiffers& differs,
                       const std::string& place) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) return differs(place, &a, &b);
  const auto by_name = [](const JsonText& object) {
    std::map<std::string_view, const JsonText*> out;
    for (const auto& [key, value] : object.members()) out[key] = &value;  // the last, as in Python
    return out;
  };
  const auto of_a = by_name(a), of_b = by_name(b);
  const std::string front = place.empty() ? "" : place + ".";
  for (const auto& [key, value] : a.members()) {
    if (of_a.at(key) != &value) continue;
    if (const auto* other = find_mapped(of_b, key)) {
      visit_differences(value, **other, differs, front + key);
    } else {
      differs(front + key, &value, nullptr);
    }
  }
  for (const auto& [key, value] : b.members()) {
    if (!of_a.contains(key) && of_b.at(key) == &value) differs(front + key, nullptr, &value);
  }
}

JsonStyle json_style_of(std::string_view text) {
  JsonStyle style;
  style.ends_with_newline = !text.empty() && text.back() == '\n';
  style.ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
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

const JsonText* JsonText::find_object(std::string_view key) const {
  const JsonText* found = find(key);
  return found != nullptr && found->is_object() ? found : nullptr;
}

JsonText* JsonText::find_object(std::string_view key) {
  return const_cast<JsonText*>(std::as_const(*this).find_object(key));
}

JsonText* JsonText::find(std::string_view key) {
  return const_cast<JsonText*>(std::as_const(*this).find(key));
}

std::optional<std::string> JsonText::as_text() const {
  return kind_ == Kind::kToken && token_[0] == '"' ? std::optional(json_unquoted(token_))
                                                   : std::nullopt;
}

std::optional<std::string> JsonText::find_text(std::string_view key) const {
  const JsonText* found = find(key);
  return found == nullptr ? std::nullopt : found->as_text();
}

std::optional<uint64_t> JsonText::as_whole() const {
  if (kind_ != Kind::kToken) return std::nullopt;
  return number_from<uint64_t>(token_);
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
  const auto at =
      std::ranges::find_if(members_, [&](const Member& member) { return member.first > key; });
  members_.emplace(at, std::string(key), std::move(value));
}

bool JsonText::remove(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.first == key; }) != 0;
}

}  // namespace ckpt
