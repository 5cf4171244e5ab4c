#include "core/base/nearest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace ckpt {
namespace {

constexpr size_t kMaxLetters = 64;
constexpr std::string_view kSigns = "-_.";

std::string letters_of(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, kMaxLetters)) {
    const auto byte = static_cast<unsigned char>(c);
    if (kSigns.find(c) == kSigns.npos) out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

std::string sorted_digits(std::string_view letters) {
  std::string out;
  for (const char c : letters) {
    if ('0' <= c && c <= '9') out += c;
  }
  std::ranges::sort(out);
  return out;
}

// The cost of typing `b` instead of `a`: 0 for the same letter, and kSlip for letters that people
// confuse because their keys are adjacent or because they sound alike.
constexpr size_t kSlip = 2, kOtherLetter = 3;
size_t cost_of_change(char a, char b) {
  static constexpr std::string_view kKeys = "qwertyuiopasdfghjkl;zxcvbnm,./";  // three rows of ten
  static constexpr std::string_view kAlike[] = {"aeiouy", "ckqsz"};
  if (a == b) return 0;
  for (const std::string_view alike : kAlike) {
    if (alike.find(a) != alike.npos && alike.find(b) != alike.npos) return kSlip;
  }
  const size_t key_a = kKeys.find(a), key_b = kKeys.find(b);
  if (key_a == kKeys.npos || key_b == kKeys.npos) return kOtherLetter;
  const int rows = static_cast<int>(key_b / 10) - static_cast<int>(key_a / 10);
  const int columns = static_cast<int>(key_b % 10) - static_cast<int>(key_a % 10);
  const bool is_next = rows == 0 ? columns * columns == 1
                                 : rows * rows == 1 && (columns == 0 || columns == -rows);
  return is_next ? kSlip : kOtherLetter;
}

// Computes the Damerau-Levenshtein distance (optimal string alignment). Adding, dropping or
// swapping letters costs kSlip.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> costs(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        costs[i][j] = kSlip * (i + j);
        continue;
      }
      const size_t changed = costs[i - 1][j - 1] + cost_of_change(a[i - 1], b[j - 1]);
      costs[i][j] = std::min({changed, costs[i - 1][j] + kSlip, costs[i][j - 1] + kSlip});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) costs[i][j] = std::min(costs[i][j], costs[i - 2][j - 2] + kSlip);
    }
  }
  return costs[a.size()][b.size()];
}

// The largest cost that still counts as a typing error in words of this length: nothing, a slip,
// one other letter, two slips.
size_t most_of_an_error(size_t letters) {
  return letters < 3 ? 0 : letters < 6 ? kSlip : letters < 7 ? kOtherLetter : 2 * kSlip;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string letters = letters_of(word), digits = sorted_digits(letters);
  size_t best = kMaxLetters;
  std::vector<std::string> longer;  // "q8_0" for "q8"
  std::string out;
  for (const std::string& candidate : candidates) {
    const std::string other = letters_of(candidate);
    const bool begins = candidate.find_first_of(kSigns, word.size()) == word.size() &&
                        is_same_word(candidate.substr(0, word.size()), word);
    if (begins && letters.size() > 1) longer.push_back(candidate);
    if (sorted_digits(other) != digits) continue;
    const size_t found = distance(letters, other);
    if (found > most_of_an_error(std::max(letters.size(), other.size())) || found >= best) continue;
    best = found;
    out = candidate;
  }
  return out.empty() && longer.size() == 1 ? longer[0] : out;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string near_hint(std::string_view word, const std::vector<std::string>& candidates,
                      std::string_view before, std::string_view otherwise) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? std::string(otherwise) : fmt::format("{}{}", before, near);
}

std::string first_names(const std::vector<std::string>& names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  return fmt::format(
      "{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "");
}

bool is_same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace ckpt
