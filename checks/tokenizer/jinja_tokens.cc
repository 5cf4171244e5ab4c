// Source: jinja2 3.1.6 lexer.py, with trim_blocks and lstrip_blocks.
#include "checks/tokenizer/jinja.h"

#include <algorithm>

#include "core/base/result.h"
#include "core/base/utf8.h"

namespace ckpt {
namespace {

bool is_jinja_digit(char c) { return c >= '0' && c <= '9'; }
bool is_jinja_hex(char c) {
  return is_jinja_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The size in bytes of the white space, as Python defines it, at the start of `text`.
size_t space_size(std::string_view text) {
  if (text.empty()) return 0;
  if (std::string_view(" \t\n\v\f\r\x1c\x1d\x1e\x1f").find(text[0]) != text.npos) return 1;
  const auto [size, code, is_valid] = first_character(text);
  const bool is_space = code == 0x85 || code == 0xA0 || code == 0x1680 ||
                        (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
                        code == 0x202F || code == 0x205F || code == 0x3000;
  return is_valid && is_space ? size : 0;
}

// Signs, symbols and private characters beyond ASCII, which names cannot contain.
constexpr std::pair<uint32_t, uint32_t> kOutsideNames[] = {
    {0x80, 0xA9},     {0xAB, 0xB1},     {0xB4, 0xB4},     {0xB6, 0xB6},     {0xB8, 0xB8},
    {0xBB, 0xBB},     {0xBF, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},     {0x2000, 0x203E},
    {0x2041, 0x2053}, {0x2055, 0x206F}, {0x20A0, 0x20CF}, {0x2190, 0x245F}, {0x2500, 0x2775},
    {0x2794, 0x2BFF}, {0x2E00, 0x3004}, {0x3008, 0x3020}, {0x3030, 0x3030}, {0xD800, 0xF8FF},
    {0xFE10, 0xFE1F}, {0xFE30, 0xFE32}, {0xFE35, 0xFE4C}, {0xFE50, 0xFE6F}, {0xFF00, 0xFF0F},
    {0xFF1A, 0xFF20}, {0xFF3B, 0xFF3E}, {0xFF40, 0xFF40}, {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF},
    {0x1F200, 0x1FAFF}};

size_t name_size(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const auto [size, code, is_valid] = first_character(text.substr(at));
    const bool is_outside = std::ranges::any_of(kOutsideNames, [&, code = code](const auto& range) {
      return code >= range.first && code <= range.second;
    });
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (code < 0x80 ? !is_letter && !is_jinja_digit(c) : is_outside || !is_valid) break;
    at += size;
  }
  return at;
}

// The end of digits from `at` on, which single "_" may separate; `at` if there are none.
template <class IsDigit>
size_t digits_end(std::string_view text, size_t at, IsDigit is_digit) {
  size_t end = at;
  while (end < text.size()) {
    const bool is_joined = text[end] == '_' && end > at && end + 1 < text.size();
    if (!is_digit(text[end + (is_joined ? 1 : 0)])) break;
    end += is_joined ? 2 : 1;
  }
  return end;
}

size_t float_size(std::string_view text) {
  const size_t whole_end = digits_end(text, 0, is_jinja_digit);
  if (whole_end == 0) return 0;
  size_t end = whole_end;
  if (text.substr(end, 1) == ".") {
    const size_t fraction = digits_end(text, end + 1, is_jinja_digit);
    if (fraction > end + 1) end = fraction;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const bool has_sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
    const size_t begin = end + (has_sign ? 2 : 1);
    const size_t exponent = digits_end(text, begin, is_jinja_digit);
    if (exponent > begin) return exponent;
  }
  return end > whole_end ? end : 0;
}

size_t integer_size(std::string_view text) {
  if (text.empty() || !is_jinja_digit(text[0])) return 0;
  if (text[0] != '0') return digits_end(text, 0, is_jinja_digit);
  const char base = text.size() < 2 ? ' ' : static_cast<char>(text[1] | 0x20);
  const auto is_digit = [&](char c) {
    return base == 'x' ? is_jinja_hex(c) : c >= '0' && c <= (base == 'b' ? '1' : '7');
  };
  if (base == 'x' || base == 'b' || base == 'o') {
    const size_t begin = text.substr(2, 1) == "_" ? 3 : 2;  // 0x_1f
    const size_t end = digits_end(text, begin, is_digit);
    if (end > begin) return end;
  }
  return digits_end(text, 0, [](char c) { return c == '0'; });
}

// The first escape that Python's codec "unicode-escape" rejects, or "".
std::string_view bad_escape(std::string_view text) {
  const size_t last_close = text.rfind('}');
  for (size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at + 2)) {
    const char kind = at + 1 < text.size() ? text[at + 1] : ' ';
    const std::string_view rest = text.substr(std::min(text.size(), at + 2));
    const size_t count = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    const std::string_view digits = rest.substr(0, count);
    const bool is_short = digits.size() < count || !std::ranges::all_of(digits, is_jinja_hex);
    const bool is_large =
        count == 8 && !is_short && (digits.substr(0, 2) != "00" || digits.substr(2, 2) > "10");
    const bool is_unnamed = kind == 'N' && (rest.substr(0, 1) != "{" || last_close == text.npos ||
                                            last_close < at + 2 || rest[1] == '}');
    if (is_short || is_large || is_unnamed) return text.substr(at, 2 + count);
  }
  return {};
}

class JinjaLexer {
 public:
  explicit JinjaLexer(std::string_view text) : text_(text) {}

  JinjaTokens read() && {
    while (at_ < text_.size() && !out_.fault) {
      size_t tag = text_.find('{', at_);
      const auto is_tag = [&] {
        return tag + 1 < text_.size() && std::string_view("{%#").find(text_[tag + 1]) != text_.npos;
      };
      while (tag != text_.npos && !is_tag()) tag = text_.find('{', tag + 1);
      push(TokenKind::kData, std::min(tag, text_.size()) - at_);
      if (at_ < text_.size()) read_any_tag();
    }
    push(TokenKind::kEnd, 0);
    return std::move(out_);
  }

 private:
  bool has(std::string_view what, size_t at) const { return text_.substr(at).starts_with(what); }
  void move(size_t size) {
    line_ += static_cast<size_t>(std::ranges::count(text_.substr(at_, size), '\n'));
    at_ += size;
  }
  void push(TokenKind kind, size_t size) {
    const bool is_empty = kind == TokenKind::kData && size == 0;
    if (!is_empty) out_.tokens.push_back({kind, text_.substr(at_, size), line_});
    move(size);
  }
  void fail(std::string what) { out_.fault = {line_, std::move(what)}; }
  size_t after_spaces(size_t at) const {
    while (const size_t size = space_size(text_.substr(at))) at += size;
    return at;
  }
  size_t after_sign(size_t at, std::string_view signs) const {
    return at < text_.size() && signs.find(text_[at]) != signs.npos ? at + 1 : at;
  }

  void read_any_tag() {
    if (has("{#", at_)) return skip_comment();
    const size_t raw = raw_tag_end(at_, "raw", "-");
    if (raw != text_.npos) return read_raw(raw);
    read_tag(has("{%", at_));
  }

  void skip_comment() {
    const size_t begin = after_sign(at_ + 2, "+-");
    const size_t end = text_.find("#}", begin);
    // jinja2 accepts a comment that begins at the very end.
    if (end == text_.npos && begin < text_.size()) return fail("'{#' without '#}'");
    move(std::min(text_.size(), end == text_.npos ? begin : end + 2) - at_);
  }

  // The end of "{% WORD %}" at `at`; npos if there is no such tag.
  size_t raw_tag_end(size_t at, std::string_view word, std::string_view signs) const {
    if (!has("{%", at)) return text_.npos;
    at = after_spaces(after_sign(at + 2, "+-"));
    if (!has(word, at)) return text_.npos;
    at = after_sign(after_spaces(at + word.size()), signs);
    return has("%}", at) ? at + 2 : text_.npos;
  }

  void read_raw(size_t begin) {
    size_t end = text_.find("{%", begin), tag_end = text_.npos;
    while (end != text_.npos) {
      tag_end = raw_tag_end(end, "endraw", "+-");
      if (tag_end != text_.npos) break;
      end = text_.find("{%", end + 1);
    }
    if (tag_end == text_.npos && begin < text_.size()) return fail("'raw' without 'endraw'");
    move(begin - at_);
    push(TokenKind::kData, std::min(end, text_.size()) - at_);
    move(std::min(tag_end, text_.size()) - at_);
  }

  void read_tag(bool is_block) {
    push(is_block ? TokenKind::kBlock : TokenKind::kPrint, 2);
    move(after_sign(at_, "+-") - at_);
    while (at_ < text_.size() && !out_.fault) {
      const size_t end = after_sign(at_, is_block ? "+-" : "-");
      if (brackets_.empty() && has(is_block ? "%}" : "}}", end)) {
        push(is_block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd, end + 2 - at_);
        return;
      }
      read_token();
    }
  }

  void read_token() {
    const std::string_view rest = text_.substr(at_);
    if (const size_t size = space_size(rest)) return move(size);
    const bool is_after_dot = text_[at_ - 1] == '.';
    const size_t float_bytes = is_after_dot ? 0 : float_size(rest);
    if (float_bytes > 0) return push(TokenKind::kFloat, float_bytes);
    if (const size_t size = integer_size(rest)) return push(TokenKind::kInteger, size);
    if (const size_t size = name_size(rest)) return push(TokenKind::kName, size);
    if (rest[0] == '\'' || rest[0] == '"') return read_string(rest);
    for (const std::string_view each : {"//", "**", "==", "!=", ">=", "<="}) {
      if (rest.starts_with(each)) return push(TokenKind::kOperator, 2);
    }
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(rest[0]) == rest.npos) {
      return fail(fmt::format("found '{}', which Jinja does not know",
                              as_utf8(rest.substr(0, first_character(rest).size_bytes))));
    }
    read_operator(rest[0]);
  }

  void read_operator(char sign) {
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (const size_t at = kOpen.find(sign); at != kOpen.npos) brackets_ += kClose[at];
    if (kClose.find(sign) != kClose.npos) {
      if (brackets_.empty()) return fail(fmt::format("'{}' without an opening bracket", sign));
      if (brackets_.back() != sign) {
        return fail(fmt::format("found '{}', expected '{}'", sign, brackets_.back()));
      }
      brackets_.pop_back();
    }
    push(TokenKind::kOperator, 1);
  }

  void read_string(std::string_view rest) {
    const char stops[] = {'\\', rest[0], 0};
    size_t end = rest.find_first_of(stops, 1);
    while (end < rest.size() && rest[end] == '\\') end = rest.find_first_of(stops, end + 2);
    if (end >= rest.size()) return fail(fmt::format("a string without a closing {}", rest[0]));
    const std::string_view escape = bad_escape(rest.substr(1, end - 1));
    if (!escape.empty()) return fail(fmt::format("found '{}', an incomplete escape", escape));
    push(TokenKind::kString, end + 1);
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1;
  std::string brackets_;  // unclosed brackets, the innermost last
  JinjaTokens out_;
};

}  // namespace

JinjaTokens read_jinja_tokens(std::string_view text) { return JinjaLexer(text).read(); }

}  // namespace ckpt
