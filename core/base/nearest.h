// The word that was probably meant: for verbs, options, types, steps, profiles and keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// The candidate with the fewest letters to change, add, remove or swap with a neighbor; case and
// the signs - _ . between letters do not count. "" if more than a third of the letters differ in
// all of them. Of equally near candidates the first.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a, b or c", for the expected words in a message.
std::string alternatives(const std::vector<std::string>& words);
// "a, b, c and 4 more".
std::string first_names(const std::vector<std::string>& names);

// Whether both are equal except for the case of letters.
bool is_same_word(std::string_view a, std::string_view b);

}  // namespace ckpt
