// JSON that is edited and written again: keys keep their order, scalars keep their spelling.
//
//   text ── parse ──▶ tree of objects, arrays and tokens ── dump(indent) ──▶ text
//
// What a reader would get wrong: a number is a token, never a value, so that 1e-06 does not become
// 1e-6 and 10000000.0 not 1e7; NaN and Infinity, which Python writes, pass through too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace ckpt {

class JsonText {
 public:
  enum class Kind : uint8_t { kToken, kArray, kObject };
  using Member = std::pair<std::string, JsonText>;  // key without quotes, unescaped

  JsonText() = default;
  static JsonText text(std::string_view value);  // escaped as Python's json does: ASCII alone
  static JsonText number(uint64_t value);
  static JsonText boolean(bool value);
  static JsonText null() { return JsonText(); }
  static JsonText array();
  static JsonText texts(const std::vector<std::string>& values);
  static JsonText object();

  // Fails: kCorrupt: no JSON, nested deeper than 128 levels.
  static Result<JsonText> parse(std::string_view text);
  // As Python's json.dumps(indent=...): one member or item a line, no newline at the end.
  std::string dump(uint32_t indent) const;

  Kind kind() const { return kind_; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_null() const { return kind_ == Kind::kToken && token_ == "null"; }
  const std::string& token() const { return token_; }  // as spelled; kToken only
  std::vector<JsonText>& items() { return items_; }
  const std::vector<JsonText>& items() const { return items_; }
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }

  // The last member of that name, as Python reads it; nullptr when absent or no object.
  const JsonText* find(std::string_view key) const;
  JsonText* find(std::string_view key);
  // Value of a member that is text, or a whole number >= 0; nullopt for all else.
  std::optional<std::string> find_text(std::string_view key) const;
  std::optional<uint64_t> find_whole(std::string_view key) const;
  std::optional<std::string> as_text() const;
  // Replaces in place, or appends.
  void set(std::string_view key, JsonText value);
  // Replaces in place, or puts it before the first key that sorts after it.
  void set_sorted(std::string_view key, JsonText value);
  bool remove(std::string_view key);  // True when it was there.

 private:
  friend class JsonTextParser;
  void append_to(std::string& out, uint32_t indent, uint32_t depth) const;

  Kind kind_ = Kind::kToken;
  std::string token_ = "null";
  std::vector<JsonText> items_;
  std::vector<Member> members_;
};

}  // namespace ckpt
