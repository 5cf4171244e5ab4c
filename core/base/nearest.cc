#include "core/base/nearest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace ckpt {
namespace {

constexpr size_t kMaxLetters = 64;

std::string letters_of(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, kMaxLetters)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '-' && c != '_' && c != '.') out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

// Damerau and Levenshtein's distance, of neighbors swapped once.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> costs(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        costs[i][j] = i + j;
        continue;
      }
      const size_t changed = costs[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      costs[i][j] = std::min({changed, costs[i - 1][j] + 1, costs[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) costs[i][j] = std::min(costs[i][j], costs[i - 2][j - 2] + 1);
    }
  }
  return costs[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string letters = letters_of(word);
  size_t best = (letters.size() < 2 ? 0 : std::max<size_t>(1, letters.size() / 3)) + 1;
  std::string out;
  for (const std::string& candidate : candidates) {
    const size_t found = distance(letters, letters_of(candidate));
    if (found >= best) continue;
    best = found;
    out = candidate;
  }
  return out;
}

std::vector<std::string> nearest_words(std::string_view word, std::vector<std::string> candidates,
                                       size_t most) {
  const std::string letters = letters_of(word);
  std::ranges::stable_sort(candidates, {}, [&](const std::string& candidate) {
    return distance(letters, letters_of(candidate));
  });
  candidates.resize(std::min(candidates.size(), most));
  return candidates;
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
