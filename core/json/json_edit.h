// JSON that is edited and written again: keys keep their order, scalars their spelling.
//
//   text ── parse ──▶ tree of objects, arrays and tokens ── dump(indent) ──▶ text
//
// A number is a token and not a value, so that 1e-06 does not become 1e-6 and 10000000.0 not 1e7.
// NaN and Infinity, which Python writes, are kept too.
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

// The layout of a text, so that only edited places differ in an edited text.
struct JsonStyle {
  uint32_t indent = 2;  // spaces or tabs per level; 0: all on one line
  bool ends_with_newline = true;
  bool ascii = false;  // escape keys beyond ASCII, as Python's json does by default
  bool spaced = true;  // on one line: "a": 1, "b": 2 instead of "a":1,"b":2
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
  // Formats as Python's json.dumps(indent=...): one member or item per line, all on one line for 0,
  // no newline at the end.
  std::string dump(uint32_t indent) const;
  // Formats in the layout `style`. Objects and arrays that were on one line when parsed stay so.
  std::string dump(const JsonStyle& style) const;

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_null() const { return kind_ == Kind::kToken && token_ == "null"; }
  const std::string& token() const { return token_; }  // as spelled; for kToken
  std::vector<JsonText>& items() { return items_; }
  const std::vector<JsonText>& items() const { return items_; }
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }

  // The last member of that name, as in Python; nullptr if absent or not an object.
  const JsonText* find(std::string_view key) const;
  JsonText* find(std::string_view key);
  // Does the same, but returns nullptr for a member that is not an object.
  const JsonText* find_object(std::string_view key) const;
  JsonText* find_object(std::string_view key);
  // The value of a member that is text, or a whole number >= 0; nullopt otherwise.
  std::optional<std::string> find_text(std::string_view key) const;
  std::optional<uint64_t> find_whole(std::string_view key) const;
  std::optional<std::string> as_text() const;
  std::optional<uint64_t> as_whole() const;
  std::optional<bool> as_boolean() const;
  // Replaces the member in place, or appends it.
  void set(std::string_view key, JsonText value);
  // Replaces the member in place, or inserts it before the first key that sorts after it.
  void set_sorted(std::string_view key, JsonText value);
  bool remove(std::string_view key);  // returns whether it existed
  // Whether both are equal trees with equal spellings, in any layout.
  bool operator==(const JsonText& other) const;

 private:
  explicit JsonText(std::string token) : token_(std::move(token)) {}
  class Builder;
  struct Layout;
  void append_to(std::string& out, const Layout& layout, uint32_t depth) const;

  Kind kind_ = Kind::kToken;
  bool was_one_line_ = false;  // when parsed; containers only
  std::string token_ = "null";
  std::vector<JsonText> items_;
  std::vector<Member> members_;
};

// Fails: kUsage if a number does not fit a double, because readers turn 1e400 into infinity.
Status check_numbers(const JsonText& json);

// Calls `differs` for each value that differs, with its place, such as "text_config.rope_theta".
// Objects are compared member by member, as Python reads them; `a` or `b` is nullptr if it lacks
// the member. The members of `a` come first, then those that only `b` has.
using JsonDiffers =
    std::function<void(const std::string& place, const JsonText* a, const JsonText* b)>;
void visit_differences(const JsonText& a, const JsonText& b, const JsonDiffers& differs,
                       const std::string& place = "");

}  // namespace ckpt
