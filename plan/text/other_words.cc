// Finds rows of data/other_words.txt, the table of other programs' words (other_words.h).
#include "plan/text/other_words.h"

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "plan/conversion/option_table.h"

namespace ckpt {

extern const std::string_view kOtherWords;  // data/other_words.txt

namespace {

// Treats "--kv_cache_qformat" and "--kv-cache-qformat" as the same word.
std::string with_dashes(std::string_view word) {
  std::string out(word);
  std::ranges::replace(out, '_', '-');
  return out;
}

// Whether `token`, written in a row as WORD[=VALUE][@VERB], matches the typed word.
bool is_asked(std::string_view token, const ForeignWord& asked) {
  const size_t at = std::min(token.find('@'), token.size());
  if (at < token.size() && token.substr(at + 1) != asked.verb) return false;
  token = token.substr(0, at);
  const size_t equals = std::min(token.find('='), token.size());
  if (with_dashes(token.substr(0, equals)) != with_dashes(asked.word)) return false;
  return equals == token.size() ||
         is_same_word(token.substr(equals + 1), with_dashes(asked.value));
}

// Takes the next column of a row, without surrounding spaces.
std::string_view take_column(std::string_view& row) {
  std::string_view column = take_word(row, '|');
  while (column.starts_with(' ')) column.remove_prefix(1);
  while (column.ends_with(' ')) column.remove_suffix(1);
  return column;
}

// Replaces {NAME} in `text` by `value`, or by NAME if no value was typed.
std::string with_value(std::string_view text, std::string_view value) {
  const size_t open = text.find('{'), close = text.find('}');
  if (open == text.npos || close == text.npos) return std::string(text);
  const std::string_view name = text.substr(open + 1, close - open - 1);
  return fmt::format("{}{}{}", text.substr(0, open), value.empty() ? name : value,
                     text.substr(close + 1));
}

// Splits `ours`, as "--split-size {SIZE}B", into option and value, and fills in the typed value. A
// value of --step is quoted if it has a comma, because commas separate the step's values.
OtherWord accepted(std::string_view ours, std::string_view value) {
  const std::string name(take_word(ours));
  const bool is_step = name == "--step" && value.find(',') != value.npos;
  const std::string quoted = is_step ? fmt::format("\"{}\"", value) : std::string(value);
  const std::string_view form = ours.empty() ? "{}" : ours;
  return {true, name, value.empty() ? std::string() : with_value(form, quoted), {}};
}

}  // namespace

std::optional<OtherWord> other_word(const ForeignWord& asked,
                                    const std::function<bool(std::string_view)>& has) {
  std::optional<OtherWord> of_convert;
  for (std::string_view text = kOtherWords; !text.empty();) {
    std::string_view row = take_word(text, '\n');
    if (row.empty() || row.starts_with('#') || row.starts_with('[')) continue;
    const auto words = split_words(take_column(row));
    const auto names_it = [&](std::string_view token) { return is_asked(token, asked); };
    if (std::ranges::none_of(words, names_it)) continue;
    std::string_view ours = take_column(row);
    const std::string_view why = take_column(row);
    const bool is_same = ours.starts_with('=');
    if (is_same) ours.remove_prefix(1);
    if (ours.empty() && is_same) ours = asked.word;
    const std::string_view option = ours.starts_with("--") ? ours.substr(0, ours.find(' ')) : "";
    const bool applies = option.empty() || (has && has(option));
    const OtherWord same = accepted(ours, asked.value);
    if (is_same && applies) return same;
    const std::string value = asked.value.empty() ? "" : shell_word(asked.value);
    const std::string shown = is_same && !value.empty()
                                  ? fmt::format("{} {}", same.ours, shell_word(same.value))
                                  : with_value(ours, value);
    if (applies) return OtherWord{false, shown, {}, why};
    if (!of_convert && find_convert_option(option.substr(2)) != nullptr) {
      of_convert = OtherWord{false, "ckpt convert IN OUT " + shown, {}, why};
    }
  }
  return of_convert;
}

}  // namespace ckpt
