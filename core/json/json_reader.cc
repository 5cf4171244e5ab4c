#include "core/json/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "core/base/printable.h"
#include "core/base/text_index.h"
#include "core/base/utf8.h"
#include "core/json/json_string.h"

namespace ckpt {
namespace {

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// Whether a token is a number such as -1.5e3: no leading zeros, digits on both sides of the point.
bool is_json_number(std::string_view token) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t start = at;
    while (at < token.size() && is_digit(token[at])) ++at;
    return at > start;
  };
  if (at < token.size() && token[at] == '-') ++at;
  const bool starts_with_zero = at < token.size() && token[at] == '0';
  const size_t start = at;
  if (!digits() || (starts_with_zero && at - start > 1)) return false;
  if (at < token.size() && token[at] == '.' && (++at, !digits())) return false;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (!digits()) return false;
  }
  return at == token.size();
}

bool is_escaped(std::string_view key) { return key.find('\\') != key.npos; }

bool is_same_key(std::string_view a, std::string_view b) {
  if (a == b || !(is_escaped(a) || is_escaped(b))) return a == b;
  return json_unquoted(a) == json_unquoted(b);
}

// The positions of the first duplicate key and of the earlier equal key.
using KeyPair = std::pair<size_t, size_t>;

std::optional<KeyPair> pair_of_few(std::span<const std::string_view> keys) {
  for (size_t i = 1; i < keys.size(); ++i) {
    for (size_t before = 0; before < i; ++before) {
      if (is_same_key(keys[before], keys[i])) return KeyPair(i, before);
    }
  }
  return std::nullopt;
}

std::optional<KeyPair> pair_of_many(std::span<const std::string_view> keys) {
  std::deque<std::string> unescaped;
  std::vector<std::string_view> texts(keys.begin(), keys.end());
  for (std::string_view& text : texts) {
    if (is_escaped(text)) text = unescaped.emplace_back('"' + json_unquoted(text) + '"');
  }
  const TextIndex index(texts);
  if (index.distinct() == texts.size()) return std::nullopt;
  size_t second = 0;
  while (*index.find(texts[second]) == second) ++second;
  return KeyPair(second, *index.find(texts[second]));
}

class Scanner {
 public:
  Scanner(std::string_view text, JsonSink* sink) : text_(text), sink_(sink) {}

  std::optional<JsonFault> run() {
    while (!fault_ && !is_ended_) {
      skip_space();
      if (at_ == text_.size()) {
        if (next_ != Next::kEnd) fault("");
        break;
      }
      step(text_[at_]);
    }
    return fault_ || is_ended_ ? fault_ : set_twice_;
  }

 private:
  enum class Next { kValue, kItem, kName, kMember, kColon, kComma, kEnd };  // kItem: a value or ]

  void skip_space() {
    const auto are_spaces = [&] {
      uint64_t next = 0;
      if (text_.size() - at_ < sizeof next) return false;
      std::memcpy(&next, text_.data() + at_, sizeof next);
      return next == 0x2020202020202020;
    };
    while (at_ < text_.size() && is_json_space(text_[at_])) {
      ++at_;
      while (are_spaces()) at_ += sizeof(uint64_t);
    }
  }
  void fault(std::string_view expected) { fault_ = JsonFault{at_, expected}; }

  template <class... Args>
  void tell(bool (JsonSink::*event)(Args...), Args... args) {
    if (sink_ != nullptr && !(sink_->*event)(args...)) is_ended_ = true;
  }
  std::string_view since(size_t start) const { return text_.substr(start, at_ - start); }

  void step(char c) {
    switch (next_) {
      case Next::kItem: return c == ']' ? close() : value(c);
      case Next::kValue: return value(c);
      case Next::kMember:
        return c == '}' ? close() : name(c);
      case Next::kName: return name(c);
      case Next::kColon:
        if (c != ':') return fault("':'");
        ++at_;
        next_ = Next::kValue;
        return;
      case Next::kComma: return comma(c);
      case Next::kEnd: return fault("nothing more");
    }
  }

  void value(char c) {
    if (c == '{' || c == '[') return open(c);
    const size_t start = at_;
    if (!(c == '"' ? string() : word())) return;
    tell(&JsonSink::scalar, since(start));
    after_value();
  }

  void open(char bracket) {
    if (open_.size() == kMaxJsonDepth) {
      fault_ = JsonFault{at_, "", true};
      return;
    }
    tell(&JsonSink::open, bracket, at_);
    open_ += bracket;
    if (bracket == '{') first_keys_.push_back(keys_.size());
    ++at_;
    next_ = bracket == '{' ? Next::kMember : Next::kItem;
  }

  void name(char c) {
    if (c != '"') return fault("a name in double quotes");
    const size_t start = at_;
    if (!string()) return;
    keys_.push_back(since(start));
    tell(&JsonSink::key, keys_.back());
    next_ = Next::kColon;
  }

  void comma(char c) {
    const bool in_object = open_.back() == '{';
    if (c == (in_object ? '}' : ']')) return close();
    if (c != ',') return fault(in_object ? "',' or '}'" : "',' or ']'");
    ++at_;
    next_ = in_object ? Next::kName : Next::kValue;
  }

  void end_keys() {
    constexpr size_t kFew = 16;
    const auto keys = std::span(keys_).subspan(first_keys_.back());
    if (!set_twice_) {
      if (const auto pair = keys.size() <= kFew ? pair_of_few(keys) : pair_of_many(keys)) {
        const auto place = [&](size_t i) {
          return static_cast<size_t>(keys[i].data() - text_.data());
        };
        set_twice_ =
            JsonFault{place(pair->first), "", false, keys[pair->first], place(pair->second)};
      }
    }
    keys_.resize(first_keys_.back());
    first_keys_.pop_back();
  }

  void close() {
    if (open_.back() == '{') end_keys();
    open_.pop_back();
    ++at_;
    tell(&JsonSink::close, at_);
    after_value();
  }
  void after_value() { next_ = open_.empty() ? Next::kEnd : Next::kComma; }

  bool string() {
    for (++at_; at_ < text_.size();) {
      const char c = text_[at_];
      const auto byte = static_cast<uint8_t>(c);
      if (c == '"') return ++at_, true;
      if (byte >= 0x20 && byte < 0x80 && c != '\\') {  // most characters need no further check
        ++at_;
        continue;
      }
      if (const size_t size = usual_utf8_size()) {
        at_ += size;
        continue;
      }
      const size_t size = c == '\\' ? escape() : utf8_size(text_.substr(at_));
      const bool is_control = byte < 0x20;
      if (size == 0 || is_control) {
        fault(c == '\\' ? "an escape of JSON" : is_control ? "an escape for it" : "UTF-8");
        return false;
      }
      at_ = std::min(at_ + size, text_.size());
    }
    fault("");
    return false;
  }

  // The size of common UTF-8 characters that need no further check; 0 for others.
  size_t usual_utf8_size() const {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text_[at_ + i]); };
    const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    if (text_.size() - at_ < 3) return 0;
    if (0xC2 <= byte(0) && byte(0) <= 0xDF) return follows(1) ? 2 : 0;
    if (0xE1 <= byte(0) && byte(0) <= 0xEC) return follows(1) && follows(2) ? 3 : 0;
    return 0;
  }
  // The size of the escape at `at_`, or of both if two surrogates form one character; 0: none.
  size_t escape() const {
    const std::string_view rest = text_.substr(at_ + 1);
    if (rest.empty()) return 1;
    if (rest[0] != 'u') return std::string_view("\"\\/bfnrt").find(rest[0]) == rest.npos ? 0 : 2;
    const auto unit = unit_at(at_);
    if (!unit || (0xDC00 <= *unit && *unit <= 0xDFFF)) return 0;
    if (*unit < 0xD800 || *unit > 0xDFFF || rest.size() <= 5) return 6;
    const auto low = unit_at(at_ + 6);
    return low && 0xDC00 <= *low && *low <= 0xDFFF ? 12 : 0;
  }
  // The value of "\u1234" at `at`; 0 if the text ends within it.
  std::optional<uint32_t> unit_at(size_t at) const {
    const std::string_view spelling = text_.substr(at, 6);
    if (!spelling.starts_with(std::string_view("\\u").substr(0, spelling.size()))) return {};
    uint32_t unit = 0;
    const char* first = spelling.data() + std::min<size_t>(2, spelling.size());
    const char* last = spelling.data() + spelling.size();
    const auto read = std::from_chars(first, last, unit, 16);
    if (spelling.size() < 6) return read.ptr == last ? std::optional(0u) : std::nullopt;
    return read.ptr == last ? std::optional(unit) : std::nullopt;
  }

  // Reads digits and a delimiter; returns false, reading nothing, for other numbers and words.
  bool short_number() {
    size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const bool is_whole = end > at_ && (text_[at_] != '0' || end == at_ + 1);
    const bool is_ended = end < text_.size() && (text_[end] == ',' || is_json_space(text_[end]));
    if (is_whole && is_ended) at_ = end;
    return is_whole && is_ended;
  }
  bool word() {
    if (short_number()) return true;
    const size_t end = std::min(text_.find_first_of(" \t\r\n,:[]{}\"", at_), text_.size());
    const std::string_view token = text_.substr(at_, end - at_);
    const bool good = is_json_number(token) || is_one_of(token);
    if (good) {
      at_ = end;
    } else if (end == text_.size() && !open_.empty()) {
      at_ = end;  // the closing brackets are missing too
      fault("");
    } else {
      fault("a value");
    }
    return good;
  }
  static bool is_one_of(std::string_view token) {
    constexpr std::string_view kWords[] = {"null", "true", "false", "NaN", "Infinity", "-Infinity"};
    return std::ranges::find(kWords, token) != std::end(kWords);
  }

  std::string_view text_;
  JsonSink* sink_;
  size_t at_ = 0;
  Next next_ = Next::kValue;
  std::string open_;
  std::vector<std::string_view> keys_;  // in open objects
  std::vector<size_t> first_keys_;      // first key of each open object
  bool is_ended_ = false;               // the sink ended the run
  std::optional<JsonFault> fault_;
  std::optional<JsonFault> set_twice_;  // the first one
};

// Describes the text at the fault: a character, or a byte that is not one.
std::string found_at(std::string_view text, size_t at) {
  if (text.substr(at).starts_with("\xEF\xBB\xBF")) return "a byte order mark";
  const size_t size = utf8_size(text.substr(at));
  if (size != 0 && text[at] != '\0') return fmt::format("'{}'", printable(text.substr(at, size)));
  return fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text[at]));
}

// `place_of` formats the position of a byte in `text`.
template <class Place>
Failure describe(std::string_view text, const JsonFault& fault, Place place_of) {
  const std::string place = place_of(fault.at);
  if (!fault.key_set_twice.empty()) {
    return corrupt_hint("removing one of them",
                        "\"{}\" is set twice, at {} and at {}; expected once",
                        printable(shorten(json_unquoted(fault.key_set_twice))),
                        place_of(fault.set_first_at), place);
  }
  if (fault.is_nested_deeper) {
    return corrupt("nested deeper than {} levels", kMaxJsonDepth);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return corrupt("not valid JSON: empty");
  }
  if (fault.at >= text.size()) {
    return corrupt("not valid JSON: truncated at {}", place);
  }
  if (fault.expected.empty()) return corrupt("not valid JSON at {}", place);
  return corrupt("not valid JSON at {}: {}; expected {}", place, found_at(text, fault.at),
                 fault.expected);
}

}  // namespace

std::optional<JsonFault> read_json_events(std::string_view text, JsonSink* sink) {
  return Scanner(text, sink).run();
}

std::string line_and_column(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0, the first line
  const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                     std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start),
                                   before.end(), is_character) +
                         1);
}

Failure not_json(const JsonFault& fault, std::string_view piece, std::string_view text) {
  const size_t start = static_cast<size_t>(piece.data() - text.data());
  return describe(piece, fault, [&](size_t at) { return line_and_column(text, start + at); });
}

Status json_status(const std::optional<JsonFault>& fault, std::string_view text,
                   Status* set_twice) {
  if (!fault) return {};
  const bool is_taken = set_twice != nullptr && !fault->key_set_twice.empty();
  if (!is_taken) return not_json(*fault, text);
  *set_twice = not_json(*fault, text);
  return {};
}

Failure not_json_at_byte(const JsonFault& fault, std::string_view text, uint64_t start_byte) {
  return describe(text, fault, [&](size_t at) { return fmt::format("byte {}", start_byte + at); });
}

}  // namespace ckpt
