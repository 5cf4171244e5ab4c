// JSON strings as the upstream writers escape them, and a guarded way to read JSON.
//
// Two writers differ: serde_json (safetensors headers) leaves everything but quotes, backslashes
// and control characters as it is; Python's json.dumps (index files) writes ASCII only.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

inline constexpr size_t kMaxNestingDepth = 64;  // brackets inside each other in any JSON we read

enum class JsonEscape { kSerde, kPython };

// Appends `text` as a JSON string, with its quotes. Requires: is_utf8(text).
void append_json_text(std::string& out, std::string_view text, JsonEscape style);

// Well-formed UTF-8: no surrogates, nothing overlong, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// A reader of JSON events that refuses what it does not expect. Subclasses override what they
// accept and say why they refuse with refuse(). Never recursive: depth costs a bit a level.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Runs over the whole of `text`. Fails: kCorrupt; where `text` is no JSON, with its line and
  // column, or with its byte in the file when it begins at `start_byte` of a binary one.
  Status run(std::string_view text, std::optional<uint64_t> start_byte = {});

  bool null() override { return refuse("null where a value was expected"); }
  bool boolean(bool) override { return refuse("true or false where a value was expected"); }
  bool number_integer(number_integer_t value) override {
    return refuse(fmt::format("the number {}; expected one from 0 up", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return refuse(fmt::format("the number {} in an unexpected place", value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return refuse(fmt::format("the number {}; expected a whole one below 2^64", shorten(text)));
  }
  bool string(string_t& text) override {
    return refuse(fmt::format("the text '{}' in an unexpected place", shorten(text)));
  }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(size_t) override { return refuse("an object in an unexpected place"); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return refuse("an array in an unexpected place"); }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    stopped_at_ = position;
    return false;
  }

  // For messages: at most 80 bytes of `text`.
  static std::string shorten(std::string_view text);

 protected:
  bool refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }

 private:
  std::string reason_;
  size_t stopped_at_ = 0;
};

}  // namespace ckpt
