// Summarizes names by grouping those that differ only in numbers and splitting each group into
// complete grids.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "core/base/numbers.h"
#include "transforms/packed/quant_summary.h"

namespace ckpt {
namespace {

using Numbers = std::vector<uint64_t>;

// Names have at most three numbers: layer, expert, and one inside. Later numbers than this many are
// text, which limits the recursion below.
constexpr size_t kMaxNumbers = 8;

// "model.layers.#.mlp.gate_proj" and {0}; components of digits only are numbers.
struct Shape {
  std::string text;
  Numbers numbers;
};

Shape shape_of(std::string_view name) {
  Shape out;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    const std::string_view word = name.substr(at, dot - at);
    if (at != 0) out.text += '.';
    const auto number = word.size() <= 9 ? number_from<uint64_t>(word) : std::nullopt;
    if (number && out.numbers.size() < kMaxNumbers) {
      out.text += '#';
      out.numbers.push_back(*number);
    } else {
      out.text += word;
    }
    at = dot + 1;
  }
  return out;
}

std::string set_text(const std::set<uint64_t>& numbers) {
  std::string out;
  for (auto at = numbers.begin(); at != numbers.end();) {
    auto last = at;
    for (auto next = std::next(at); next != numbers.end() && *next == *last + 1; ++next)
      last = next;
    if (!out.empty()) out += ',';
    out += *at == *last       ? fmt::format("{}", *at)
           : *last == *at + 1 ? fmt::format("{},{}", *at, *last)
                              : fmt::format("{}..{}", *at, *last);
    at = std::next(last);
  }
  return numbers.size() == 1 ? out : "{" + out + "}";
}

// Texts for the numbers from position `at` on, several if they do not form a grid.
std::vector<std::vector<std::string>> grids(const std::set<Numbers>& all, size_t at) {
  if (all.empty() || at == all.begin()->size()) return {{}};
  std::map<uint64_t, std::set<Numbers>> rest_of;
  for (const Numbers& numbers : all) {
    rest_of[numbers[at]].insert(
        Numbers(numbers.begin() + static_cast<long>(at) + 1, numbers.end()));
  }
  std::map<std::set<Numbers>, std::set<uint64_t>> by_rest;
  for (const auto& [number, rest] : rest_of) by_rest[rest].insert(number);
  std::vector<std::pair<std::set<uint64_t>, const std::set<Numbers>*>> pieces;
  for (const auto& [rest, numbers] : by_rest) pieces.emplace_back(numbers, &rest);
  std::ranges::sort(pieces);
  std::vector<std::vector<std::string>> out;
  for (const auto& [numbers, rest] : pieces) {
    for (std::vector<std::string>& tail : grids(*rest, 0)) {
      tail.insert(tail.begin(), set_text(numbers));
      out.push_back(std::move(tail));
    }
  }
  return out;
}

std::string fill(std::string_view shape, const std::vector<std::string>& numbers) {
  std::string out;
  size_t used = 0;
  for (const char c : shape) {
    if (c == '#' && used < numbers.size()) {
      out += numbers[used++];
    } else {
      out += c;
    }
  }
  return out;
}

// "gate_proj", "up_proj" ─▶ "{gate,up}_proj"
std::string join_words(const std::vector<std::string>& words) {
  if (words.size() == 1) return words[0];
  const std::string& first = words[0];
  size_t shared = first.size();
  for (const std::string& word : words) {
    size_t here = 0;
    while (here < std::min(shared, word.size()) &&
           word[word.size() - 1 - here] == first[first.size() - 1 - here]) {
      ++here;
    }
    shared = here;
  }
  // Only complete words: "_proj", not "a_proj".
  const size_t cut = first.find('_', first.size() - shared);
  shared = cut == std::string::npos ? 0 : first.size() - cut;
  std::string out = "{";
  for (size_t i = 0; i < words.size(); ++i) {
    out += (i == 0 ? "" : ",") + words[i].substr(0, words[i].size() - shared);
  }
  return out + "}" + first.substr(first.size() - shared);
}

}  // namespace

std::vector<std::string> summarize_names(const std::vector<std::string>& names) {
  std::map<std::string, std::set<Numbers>> numbers_of;
  std::vector<std::string> order;
  for (const std::string& name : names) {
    Shape shape = shape_of(name);
    auto& numbers = numbers_of[shape.text];
    if (numbers.empty()) order.push_back(shape.text);
    numbers.insert(std::move(shape.numbers));
  }
  // Words with the same parent and numbers are joined.
  std::map<std::pair<std::string, std::set<Numbers>>, std::vector<std::string>> words_of;
  std::vector<std::pair<std::string, std::set<Numbers>>> parents;
  for (const std::string& shape : order) {
    const size_t dot = shape.rfind('.');
    const bool has_parent = dot != std::string::npos && shape.find('#') < dot;
    auto key = std::make_pair(has_parent ? shape.substr(0, dot + 1) : shape, numbers_of[shape]);
    auto& words = words_of[key];
    if (words.empty()) parents.push_back(key);
    words.push_back(has_parent ? shape.substr(dot + 1) : "");
  }
  std::vector<std::string> out;
  for (const auto& key : parents) {
    for (const auto& numbers : grids(key.second, 0)) {
      out.push_back(fill(key.first, numbers) + join_words(words_of[key]));
    }
  }
  return out;
}

}  // namespace ckpt
