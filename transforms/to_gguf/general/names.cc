// Splits the name of a model into base name, size, version and finetune, as gguf-py does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/words.h"
#include "transforms/to_gguf/general/general.h"

namespace ckpt {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
// Non-ASCII bytes count as letters, because names contain foreign scripts but rarely symbols.
bool is_letter(char c) {
  return is_upper(c) || is_lower(c) || static_cast<unsigned char>(c) >= 128;
}
bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// Each take_* removes its match from the start of `text` and returns whether there was one.
bool take_digits(std::string_view& text) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// (v|iter)?N(.N)*
bool is_version(std::string_view text) {
  if (!take_prefix(text, "v")) take_prefix(text, "iter");
  if (!take_digits(text)) return false;
  while (take_prefix(text, ".")) {
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

// i?qN(_x)* or b?fp?(16|32), x a letter, digit or underscore
bool is_quant_type(std::string_view text) {
  std::string_view block = text;
  take_prefix(block, "i");
  if (take_prefix(block, "q") && !block.empty() && is_ascii_digit(block[0])) {
    block.remove_prefix(1);
    while (block.size() >= 2 && block[0] == '_' &&
           (is_letter(block[1]) || is_ascii_digit(block[1]) || block[1] == '_')) {
      block.remove_prefix(2);
    }
    if (block.empty()) return true;
  }
  take_prefix(text, "b");
  if (!take_prefix(text, "f")) return false;
  take_prefix(text, "p");
  return text == "16" || text == "32";
}

// [A | Nx] N ([._]N)? [kmbt] digit?
bool is_numeric_size(std::string_view text) {
  std::string_view factor = text;
  if (!take_prefix(text, "a") && take_digits(factor) && take_prefix(factor, "x")) text = factor;
  if (!take_digits(text)) return false;
  if (take_prefix(text, ".") || take_prefix(text, "_")) {
    if (!take_digits(text)) return false;
  }
  if (text.empty() || std::string_view("kmbt").find(text[0]) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return text.empty() || (text.size() == 1 && is_ascii_digit(text[0]));
}

bool is_size(std::string_view text) {
  return has_word("small mini medium large xl xxl", text) || is_numeric_size(text);
}

struct Part {
  std::string text;
  bool basename = false, size = false, finetune = false, version = false, type = false;
  bool untyped() const { return !basename && !size && !finetune && !version && !type; }
};

// "7b1" is 7.1B, "1_5b" is 1.5B.
std::string normalized_size(std::string text) {
  std::replace(text.begin(), text.end(), '_', '.');
  if (is_ascii_digit(text.back())) {
    const char digit = text.back();
    const char unit = text[text.size() - 2];
    text.resize(text.size() - 2);
    text += {'.', digit, unit};
  }
  if (text.size() > 1 && is_ascii_digit(text[text.size() - 2])) text.back() = upper(text.back());
  return text;
}

// A size that differs from the actual one by more than 7/8 of it is probably a context length.
bool is_far_off(const std::string& size, uint64_t total_values) {
  if (total_values == 0) return false;
  const auto count = number_from<double>(std::string_view(size).substr(0, size.size() - 1));
  if (!count) return false;
  const size_t unit = std::string_view(" KMBT").find(size.back());
  if (unit == std::string_view::npos) return false;
  const double claimed = *count * std::pow(1000.0, static_cast<double>(unit));
  const uint64_t most = 7 * total_values / 8;
  return std::abs(claimed - static_cast<double>(total_values)) > static_cast<double>(most);
}

void classify(Part& part, bool is_first, uint64_t total_values) {
  const std::string text = lower_case(part.text);
  if (is_version(text)) {
    part.version = true;
  } else if (is_quant_type(text)) {
    part.type = true;
    part.text = upper_case(part.text);
  } else if (!is_first && is_size(text)) {
    part.text = normalized_size(part.text);
    const bool far = is_far_off(part.text, total_values);
    part.finetune = far;
    part.size = !far;
    if (far) part.text.back() = lower(part.text.back());
  } else if (!is_first && has_word("chat instruct vision lora", text)) {
    part.finetune = true;
  }
}

std::vector<Part> split_name(std::string_view name) {
  std::vector<Part> parts;
  while (!name.empty()) {
    const size_t end = std::min(name.find('-'), name.size());
    if (end > 0) parts.push_back({std::string(name.substr(0, end))});
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

// A size as a word is dropped if there is one as a number.
void drop_word_sizes(std::vector<Part>& parts) {
  const bool has_number = std::ranges::any_of(parts, [](const Part& part) {
    return part.size && std::ranges::any_of(part.text, is_ascii_digit);
  });
  if (!has_number) return;
  for (Part& part : parts) {
    if (std::ranges::all_of(part.text, is_letter)) part.size = false;
  }
}

void mark_basename(std::vector<Part>& parts) {
  bool at_start = true;
  for (Part& part : parts) {
    at_start = at_start && ((part.untyped() && is_letter(part.text[0])) || part.version);
    if (at_start) part.basename = true;
    if (!at_start && part.untyped()) part.finetune = true;
  }
  // A base name does not end with versions.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->basename || !part->version) break;
    part->basename = false;
  }
}

// Joins the texts of the parts that `wanted` selects with "-"; nullopt if there are none.
template <class Wanted>
std::optional<std::string> join(const std::vector<Part>& parts, Wanted wanted,
                                bool unique = false) {
  std::vector<std::string> texts;
  for (const Part& part : parts) {
    if (!wanted(part)) continue;
    if (unique && std::ranges::find(texts, part.text) != texts.end()) continue;
    texts.push_back(part.text);
  }
  if (texts.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(texts, "-"));
}

std::string rounded(uint64_t values) {
  struct Unit {
    double above, factor;
    char name;
  };
  constexpr Unit kUnits[] = {
      {1e12, 1e-12, 'T'}, {1e9, 1e-9, 'B'}, {1e6, 1e-6, 'M'}, {-1, 1e-3, 'K'}};
  const auto count = static_cast<double>(values);
  for (const Unit& unit : kUnits) {
    if (!(count > unit.above)) continue;
    const double scaled = count * unit.factor;
    const double whole = std::nearbyint(scaled);
    const int digits = whole >= 10 ? 0 : whole >= 1 ? 1 : 2;
    return fmt::format("{:.{}f}{}", scaled, digits, unit.name);
  }
  return "";
}

bool looks_like_version(std::string_view word) {
  if (is_ascii_digit(word[0])) return true;
  if (!take_prefix(word, "v") || !take_digits(word)) return false;
  return is_version(word) || word.empty() || (word[0] == '.' && is_version(word.substr(1)));
}

// A character, and its capital form. Letters of ASCII, Latin-1 and Cyrillic have case.
struct Letter {
  std::string_view text;
  std::string capital;  // differs from `text` only for small letters
  bool is_letter, is_capital;
};

Letter letter_at(std::string_view word) {
  const auto byte = [&](size_t i) { return i < word.size() ? static_cast<uint8_t>(word[i]) : 0u; };
  if (byte(0) < 0x80) {
    return {word.substr(0, 1), std::string(1, upper(word[0])), is_letter(word[0]),
            is_upper(word[0])};
  }
  const size_t size = byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  const std::string_view text = word.substr(0, size);
  Letter out{text, std::string(text), true, false};
  if (text.size() != 2) return out;
  const uint32_t code = (byte(0) & 31) << 6 | (byte(1) & 63);
  out.is_capital =
      (code >= 0xC0 && code <= 0xDE && code != 0xD7) || (code >= 0x410 && code <= 0x42F);
  const bool is_small =
      (code >= 0xE0 && code <= 0xFE && code != 0xF7) || (code >= 0x430 && code <= 0x44F);
  const uint32_t capital = is_small ? code - 0x20 : code;
  out.capital = {static_cast<char>(0xC0 | capital >> 6), static_cast<char>(0x80 | (capital & 63))};
  return out;
}

// Whether it has letters with case, all of them lower case.
bool is_lower_case(std::string_view word) {
  bool has_small = false;
  while (!word.empty()) {
    const Letter letter = letter_at(word);
    if (letter.is_capital) return false;
    has_small = has_small || letter.capital != letter.text;
    word.remove_prefix(letter.text.size());
  }
  return has_small;
}

// Capitalizes each letter after a non-letter: "foo_bar2b" becomes "Foo_Bar2B".
std::string with_capitals(std::string_view word) {
  std::string out;
  bool starts = true;
  while (!word.empty()) {
    const Letter letter = letter_at(word);
    out += starts ? letter.capital : std::string(letter.text);
    starts = !letter.is_letter;
    word.remove_prefix(letter.text.size());
  }
  return out;
}

}  // namespace

NameComponents name_components(std::string_view model_id, uint64_t total_values) {
  NameComponents out;
  if (model_id.find(' ') != std::string_view::npos) {
    out.full_name = model_id;  // a title, not an identifier
    return out;
  }
  std::string_view name = model_id;
  if (const size_t slash = model_id.find('/'); slash != std::string_view::npos) {
    name = model_id.substr(slash + 1);
    const std::string_view organization = model_id.substr(0, slash);
    if (!organization.starts_with('.')) out.organization = organization;
  }
  out.full_name = name;
  std::vector<Part> parts = split_name(name);
  for (size_t i = 0; i < parts.size(); ++i) classify(parts[i], i == 0, total_values);
  drop_word_sizes(parts);
  mark_basename(parts);
  out.basename = join(parts, [](const Part& part) { return part.basename; });
  out.size_label = join(
      parts, [](const Part& part) { return part.size; }, true);
  out.finetune = join(parts, [](const Part& part) { return part.finetune; });
  out.version = join(parts, [](const Part& part) { return part.version && !part.basename; });
  if (!out.size_label && !out.finetune && !out.version) out.basename.reset();
  return out;
}

std::string title_of(std::string_view id) {
  std::string out;
  size_t at = 0;
  const auto separates = [](char c) { return is_ascii_space(c) || c == '-'; };
  while (at < id.size()) {
    size_t end = at;
    while (end < id.size() && !separates(id[end])) ++end;
    const std::string_view word = id.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!out.empty()) out += ' ';
    const bool stays = !is_lower_case(word) || looks_like_version(word);
    out += stays ? std::string(word) : with_capitals(word);
  }
  return out;
}

std::string size_label(const ParameterCount& count) {
  if (count.experts == 0) return rounded(count.total);
  return fmt::format("{}x{}", count.experts, rounded(count.shared + count.expert));
}

}  // namespace ckpt
