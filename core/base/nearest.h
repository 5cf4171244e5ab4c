// The word that was probably meant: for verbs, options, types, steps, profiles and keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// The candidate that fewest letters have to be changed, added, left out or swapped with their
// neighbor in; case and the signs - _ . between letters do not count. "" when none is near: more
// than a third of the letters. Of several the first.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a, b or c", for what was expected.
std::string alternatives(const std::vector<std::string>& words);
// "a, b, c and 4 more".
std::string first_names(const std::vector<std::string>& names);

// The same but for the case of letters.
bool is_same_word(std::string_view a, std::string_view b);

}  // namespace ckpt
