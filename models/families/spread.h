// Makes one row for each choice that the texts of a row have in braces: of "mlp.{gate,up}_proj",
// the rows "mlp.gate_proj" and "mlp.up_proj". Each text of a row has the same number of choices, or
// none. "{}" stays, as it stands for the number of a layer or expert.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "models/models.h"

namespace ckpt {

// A text before its choices, the choices, and the text behind them.
struct Choices {
  std::string_view front, words, back;

  constexpr explicit Choices(std::string_view text) : front(text) {
    for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
      words = text.substr(at + 1, text.find('}', at) - at - 1);
      if (words.find(',') == words.npos) continue;
      front = text.substr(0, at);
      back = text.substr(at + words.size() + 2);
      return;
    }
    words = {};
  }
  constexpr size_t count() const { return 1 + static_cast<size_t>(std::ranges::count(words, ',')); }
  constexpr std::string_view word(size_t number) const {
    std::string_view rest = words;
    for (; number > 0; --number) rest.remove_prefix(rest.find(',') + 1);
    return rest.substr(0, rest.find(','));
  }
};

// The texts of a row that may have choices; the first decides how many.
constexpr auto texts_of(ParameterRule& row) { return std::array{&row.name}; }
constexpr auto texts_of(NameRule& row) { return std::array{&row.from, &row.to, &row.second}; }
constexpr auto texts_of(KeyRule& row) { return std::array{&row.key, &row.fields}; }
constexpr size_t choices_of(auto row) { return Choices(*texts_of(row)[0]).count(); }

// The rows that `Make` returns, with their texts.
template <class Make>
struct Spread {
  static constexpr auto kGiven = Make()();
  static constexpr size_t kRows = [] {
    size_t count = 0;
    for (const auto& row : kGiven) count += choices_of(row);
    return count;
  }();
  static constexpr size_t kMostBytes = [] {
    size_t count = 0;
    for (auto row : kGiven) {
      for (const std::string_view* text : texts_of(row)) count += choices_of(row) * text->size();
    }
    return count;
  }();
  std::array<char, kMostBytes> texts = {};
  std::array<typename decltype(kGiven)::value_type, kRows> rows = {};

  constexpr Spread() {
    char* end = texts.data();
    auto row = rows.begin();
    for (const auto& given : kGiven) {
      for (size_t i = 0; i < choices_of(given); ++i, ++row) {
        *row = given;
        for (std::string_view* text : texts_of(*row)) {
          const Choices from(*text);
          CKPT_CHECK(from.count() == 1 || from.count() == choices_of(given));
          *text = put(end, {from.front, from.word(i), from.back});
          end += text->size();
        }
      }
    }
  }
  static constexpr std::string_view put(char* at, std::initializer_list<std::string_view> parts) {
    char* end = at;
    for (const std::string_view part : parts) end = std::ranges::copy(part, end).out;
    return {at, static_cast<size_t>(end - at)};
  }
};
template <class Make>
inline constexpr Spread<Make> kSpread{};
template <class Make>
constexpr auto spread(Make) {
  return kSpread<Make>.rows;
}

}  // namespace ckpt
