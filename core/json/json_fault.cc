#include "core/json/json_fault.h"

#include <algorithm>
#include <charconv>

#include "core/base/printable.h"
#include "core/json/json_python.h"

namespace ckpt {
namespace {

// Finds what is wrong without building anything and without recursion.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<JsonFault> run() {
    while (!fault_) {
      while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
      if (at_ == text_.size()) {
        if (next_ != Next::kEnd) fault("");
        break;
      }
      step(text_[at_]);
    }
    return fault_;
  }

 private:
  enum class Next { kValue, kItem, kName, kMember, kColon, kComma, kEnd };  // kItem: a value or ]

  void fault(std::string_view expected) { fault_ = JsonFault{at_, expected}; }

  void step(char c) {
    switch (next_) {
      case Next::kItem:
        return c == ']' ? close() : value(c);
      case Next::kValue:
        return value(c);
      case Next::kMember:
        return c == '}' ? close() : name(c);
      case Next::kName:
        return name(c);
      case Next::kColon:
        if (c != ':') return fault("':'");
        ++at_;
        next_ = Next::kValue;
        return;
      case Next::kComma:
        return comma(c);
      case Next::kEnd:
        return fault("nothing more");
    }
  }

  void value(char c) {
    if (c == '{' || c == '[') {
      open_ += c;
      ++at_;
      next_ = c == '{' ? Next::kMember : Next::kItem;
      return;
    }
    if (c == '"' ? string() : word()) after_value();
  }

  void name(char c) {
    if (c != '"') return fault("a name in double quotes");
    if (string()) next_ = Next::kColon;
  }

  void comma(char c) {
    const bool in_object = open_.back() == '{';
    if (c == (in_object ? '}' : ']')) return close();
    if (c != ',') return fault(in_object ? "',' or '}'" : "',' or ']'");
    ++at_;
    next_ = in_object ? Next::kName : Next::kValue;
  }

  void close() {
    open_.pop_back();
    ++at_;
    after_value();
  }
  void after_value() { next_ = open_.empty() ? Next::kEnd : Next::kComma; }

  bool string() {
    for (++at_; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      const size_t size = c == '\\' ? escape() : utf8_size(text_.substr(at_));
      const bool is_control = static_cast<unsigned char>(c) < 0x20;
      if (size == 0 || is_control) {
        fault(c == '\\' ? "an escape of JSON" : is_control ? "an escape for it" : "UTF-8");
        return false;
      }
      at_ = std::min(at_ + size, text_.size());
    }
    fault("");
    return false;
  }

  // The size of the escape at `at_`, of both where two surrogates are one character; 0: none.
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
  // The number of "\u1234" at `at`; 0 where the text ends in it.
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

  bool word() {
    const size_t end = std::min(text_.find_first_of(" \t\r\n,:[]{}\"", at_), text_.size());
    const std::string_view token = text_.substr(at_, end - at_);
    const bool good = is_json_number(token) || is_one_of(token);
    if (good) {
      at_ = end;
    } else if (end == text_.size() && !open_.empty()) {
      at_ = end;  // what would close the brackets is missing too
      fault("");
    } else {
      fault("a value");
    }
    return good;
  }
  static bool is_one_of(std::string_view token) {
    constexpr std::string_view kWords[] = {"null", "true", "false", "NaN", "Infinity", "-Infinity"};
    return std::find(std::begin(kWords), std::end(kWords), token) != std::end(kWords);
  }

  std::string_view text_;
  size_t at_ = 0;
  Next next_ = Next::kValue;
  std::string open_;
  std::optional<JsonFault> fault_;
};

// What stands at the fault: a character, or a byte that is none.
std::string found_at(std::string_view text, size_t at) {
  if (text.substr(at).starts_with("\xEF\xBB\xBF")) return "a byte order mark";
  const size_t size = utf8_size(text.substr(at));
  if (size != 0 && text[at] != '\0') return fmt::format("'{}'", printable(text.substr(at, size)));
  return fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text[at]));
}

Failure describe(std::string_view text, const JsonFault& fault, std::string_view place) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail(ErrorCode::kCorrupt, "not valid JSON: empty");
  }
  if (fault.at >= text.size()) {
    return fail(ErrorCode::kCorrupt, "not valid JSON: truncated at {}", place);
  }
  if (fault.expected.empty()) return fail(ErrorCode::kCorrupt, "not valid JSON at {}", place);
  return fail(ErrorCode::kCorrupt, "not valid JSON at {}: {}; expected {}", place,
              found_at(text, fault.at), fault.expected);
}

}  // namespace

std::optional<JsonFault> find_json_fault(std::string_view text) { return Scanner(text).run(); }

std::string line_and_column(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1: the first line
  const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start),
                                   before.end(), is_character) +
                         1);
}

Failure not_json(std::string_view piece, std::string_view text) {
  const auto fault = find_json_fault(piece);
  if (!fault) return fail(ErrorCode::kCorrupt, "not valid JSON");
  const size_t start = static_cast<size_t>(piece.data() - text.data());
  return describe(piece, *fault, line_and_column(text, start + fault->at));
}

Failure not_json_at_byte(std::string_view text, uint64_t start_byte, size_t stopped_at) {
  const JsonFault fault =
      find_json_fault(text).value_or(JsonFault{std::min(stopped_at, text.size() - 1), ""});
  return describe(text, fault, fmt::format("byte {}", start_byte + fault.at));
}

}  // namespace ckpt
