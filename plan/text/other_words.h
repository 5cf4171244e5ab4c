// Words of other programs, and what ckpt calls them: data/other_words.txt.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

struct AskedWord {
  std::string word;    // "--qformat", "quantize", "\"dtype\"" of a recipe
  std::string value;   // as typed; empty: none
  std::string verb{};  // the command of ckpt that it was typed to
};

struct OtherWord {
  bool is_same = false;  // ckpt accepts the word as `ours`
  std::string ours;      // what to type, the value in its place; is_same: a name without its value
  std::string value;     // is_same: the value as `ours` takes it; empty: none was typed
  std::string_view why;  // a clause, or empty
};

// `has` tells whether the command has an option, "--to". nullopt: no program is known to have it.
std::optional<OtherWord> other_word(const AskedWord& asked,
                                    const std::function<bool(std::string_view)>& has);

}  // namespace ckpt
