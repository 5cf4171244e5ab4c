// JSON that is edited and written again: keys keep their order, scalars keep their spelling.
//
//   text ── parse ──▶ tree of objects, arrays and tokens ── dump(indent) ──▶ text
//
// A number is a token, never a value, so that 1e-06 does not become 1e-6 and 10000000.0 not 1e7;
// NaN and Infinity, which Python writes, pass through too.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_read.h"

namespace ckpt {

// The layout of a text, so that an edited text differs only in the edited places.
struct JsonStyle {
  uint32_t indent = 2;  // spaces or tabs a level; 0: all on one line
  bool ends_with_newline = true;
  bool ascii = false;  // keys beyond ASCII are escaped, as Python's json does by default
  bool spaced = true;  // on one line: "a": 1, "b": 2 and not "a":1,"b":2
  bool tabs = false;   // indented with tabs
  bool crlf = false;   // lines end with "\r\n"
};
JsonStyle json_style_of(std::string_view text);

class JsonText {
 public:
  enum class Kind : uint8_t { kToken, kArray, kObject };
  using Member = std::pair<std::string, JsonText>;  // key without quotes, unescaped

  JsonText() = default;
  static JsonText text(std::string_view value);  // escaped as Python's json does: ASCII only
  template <std::integral Number>
  static JsonText number(Number value) {
    return JsonText(fmt::format("{}", value));
  }
  static JsonText boolean(bool value);
  static JsonText null() { return JsonText(); }
  static JsonText array();
  static JsonText texts(const std::vector<std::string>& values);
  static JsonText object(std::vector<Member> members = {});

  // Fails: kCorrupt: as parse_json(), without a path.
  static Result<JsonText> parse(std::string_view text, Status* set_twice = nullptr);
  JsonValue value() const;  // the value
  // As Python's json.dumps(indent=...): one member or item a line, all on one line for 0; no
  // newline at the end.
  std::string dump(uint32_t indent) const;
  // In the layout `style`; objects and arrays that were parsed from one line stay on one line.
  std::string dump(const JsonStyle& style) const;

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_null() const { return kind_ == Kind::kToken && token_ == "null"; }
  const std::string& token() const { return token_; }  // as spelled; kToken only
  std::vector<JsonText>& items() { return items_; }
  const std::vector<JsonText>& items() const { return items_; }
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }

  // The last member of that name, as Python reads it; nullptr when absent or no object.
  const JsonText* find(std::string_view key) const;
  JsonText* find(std::string_view key);
  // The same, but nullptr for anything but an object.
  const JsonText* find_object(std::string_view key) const;
  JsonText* find_object(std::string_view key);
  // Value of a member that is text, or a whole number >= 0; nullopt otherwise.
  std::optional<std::string> find_text(std::string_view key) const;
  std::optional<uint64_t> find_whole(std::string_view key) const;
  std::optional<std::string> as_text() const;
  std::optional<uint64_t> as_whole() const;
  std::optional<bool> as_boolean() const;
  // Replaces in place, or appends.
  void set(std::string_view key, JsonText value);
  // Replaces in place, or puts it before the first key that sorts after it.
  void set_sorted(std::string_view key, JsonText value);
  bool remove(std::string_view key);  // True when it was there.
  // Whether both are the same tree with the same spellings, in any layout.
  bool operator==(const JsonText& other) const;

 private:
  explicit JsonText(std::string token) : token_(std::move(token)) {}
  class Builder;
  struct Layout;
  void append_to(std::string& out, const Layout& layout, uint32_t depth) const;

  Kind kind_ = Kind::kToken;
  bool was_one_line_ = false;  // as parsed; containers only
  std::string token_ = "null";
  std::vector<JsonText> items_;
  std::vector<Member> members_;
};

// Requires every number to be a double: readers make infinity of 1e400. Fails: kUsage.
Status check_numbers(const JsonText& json);

// Calls `differs` for each value that is not the same in both, with its place, such as
// "text_config.rope_theta". Objects are compared member by member, as Python reads them; `a` or `b`
// is nullptr if it lacks the member. The members of `a` come first, then those that only `b` has.
using JsonDiffers =
    std::function<void(const std::string& place, const JsonText* a, const JsonText* b)>;
void visit_differences(const JsonText& a, const JsonText& b, const JsonDiffers& differs,
                       const std::string& place = "");

}  // namespace ckpt
