#include "core/json/json_python.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ckpt {
namespace {

using Json = nlohmann::json;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::pair<std::string_view, double>, 3> kNonfiniteWords = {
    {{"-Infinity", -std::numeric_limits<double>::infinity()},
     {"Infinity", std::numeric_limits<double>::infinity()},
     {"NaN", std::numeric_limits<double>::quiet_NaN()}}};

// Spellings of zero that stand for the values a strict parser refuses. None occurs in the text.
struct StandIns {
  explicit StandIns(std::string_view text) {
    uint64_t next = 4'000'000'000;
    for (std::string& spelling : spellings) {
      do {
        spelling = fmt::format("0e-{}", next++);
      } while (text.find(spelling) != text.npos);
    }
  }
  std::string_view of(double value) const {
    for (size_t i = 0; i < kNonfiniteWords.size(); ++i) {
      if (kNonfiniteWords[i].second == value) return spellings[i];
    }
    return spellings.back();
  }
  std::array<std::string, kNonfiniteWords.size()> spellings;
};

// Characters that continue a number or a word, so that none begins or ends beside them.
bool is_of_token(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

size_t token_end(std::string_view text, size_t at) {
  while (at < text.size() &&
         (is_digit(text[at]) || std::string_view("+-.eE").find(text[at]) != text.npos)) {
    ++at;
  }
  return at;
}

// The length of the token at `at` that a strict parser refuses and Python does not, and its value;
// 0: none.
std::pair<size_t, double> python_number(std::string_view text, size_t at) {
  if (at > 0 && is_of_token(text[at - 1])) return {};
  for (const auto& [word, value] : kNonfiniteWords) {
    const size_t end = at + word.size();
    const bool ends = end >= text.size() || !is_of_token(text[end]);
    if (text.substr(at).starts_with(word) && ends) return {word.size(), value};
  }
  const size_t end = token_end(text, at);
  const std::string token(text.substr(at, end - at));
  if (!is_json_number(token)) return {};
  const double value = std::strtod(token.c_str(), nullptr);
  return std::isinf(value) ? std::pair(token.size(), value) : std::pair<size_t, double>();
}

size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

std::string with_stand_ins(std::string_view text, const StandIns& stand_ins) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      end = string_end(text, at);
    } else if (is_digit(text[at]) || text[at] == '-' || text[at] == 'N' || text[at] == 'I') {
      const auto [length, value] = python_number(text, at);
      if (length != 0) {
        out += stand_ins.of(value);
        at += length;
        continue;
      }
      end = std::max(end, token_end(text, at));
    }
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

// Makes the value of what a parser says, stand-ins replaced.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const StandIns& stand_ins) : stand_ins_(stand_ins) {}
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& spelling) override {
    for (size_t i = 0; i < kNonfiniteWords.size(); ++i) {
      if (spelling == stand_ins_.spellings[i]) return put(kNonfiniteWords[i].second);
    }
    return put(value);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  Json* place(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    return &((*open_.back())[key_] = std::move(value));
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const StandIns& stand_ins_;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace

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

std::optional<nlohmann::json> parse_python_json(std::string_view text) {
  const StandIns stand_ins(text);
  Builder builder(stand_ins);
  if (!Json::sax_parse(with_stand_ins(text, stand_ins), &builder)) return std::nullopt;
  return builder.take();
}

}  // namespace ckpt
