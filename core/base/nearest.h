// Finds the word that was probably meant, for verbs, options, types, steps, profiles and keys.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ckpt {

// Returns the candidate that a person who typed `word` probably meant. It has the same digits and
// differs by one or two slips: a slip adds, drops or swaps a letter, or replaces it by one whose
// key or sound is near. A long word may have one wrong letter of any kind. Case and the signs - _ .
// do not count. If no candidate is that near, returns the only one that begins with `word` and one
// of these signs, or "". The first of equally near candidates wins.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns `before` and the nearest candidate as a hint, or `otherwise` if none is near.
std::string near_hint(std::string_view word, const std::vector<std::string>& candidates,
                      std::string_view before, std::string_view otherwise);

// Returns the names of the items in `list`, which are objects or pointers to objects.
template <class Text = std::string, class List>
std::vector<Text> names_in(const List& list) {
  std::vector<Text> out;
  for (const auto& each : list) {
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(each)>>) {
      out.emplace_back(each->name);
    } else {
      out.emplace_back(each.name);
    }
  }
  return out;
}

// Returns "a, b or c", for the expected words in a message.
std::string alternatives(const std::vector<std::string>& words);
// Returns "a, b, c and 4 more".
std::string first_names(const std::vector<std::string>& names, size_t most = 3);

// Whether both are equal except for the case of letters.
bool is_same_word(std::string_view a, std::string_view b);

}  // namespace ckpt
