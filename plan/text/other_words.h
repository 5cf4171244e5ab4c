// Translates options and commands of other programs into those of ckpt, by the table
// data/other_words.txt.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

struct ForeignWord {
  std::string word;    // "--qformat", "quantize", or a key of a recipe: "\"dtype\""
  std::string value;   // as typed; empty: no value
  std::string verb{};  // the command of ckpt it was typed for
};

struct OtherWord {
  bool is_same = false;  // ckpt accepts the word as `ours`
  std::string ours;      // ckpt's text with the value filled in; is_same: only the name
  std::string value;     // is_same: the value in ckpt's form; empty: no value
  std::string_view why;  // a clause for the message; may be empty
};

// Finds the row for `asked`. `has` tells whether the command has an option such as "--to". nullopt:
// the table does not have the word.
std::optional<OtherWord> other_word(const ForeignWord& asked,
                                    const std::function<bool(std::string_view)>& has);

}  // namespace ckpt
