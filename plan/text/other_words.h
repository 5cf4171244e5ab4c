// Translates options and commands of other programs, as people type them, into those of ckpt. The
// table is data/other_words.txt.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

struct ForeignWord {
  std::string word;    // "--qformat", "quantize", or a key of a recipe: "\"dtype\""
  std::string value;   // as typed; empty: none
  std::string verb{};  // the command of ckpt that it was typed to
};

struct OtherWord {
  bool is_same = false;  // ckpt accepts the word as `ours`
  std::string ours;      // what to type, with the value filled in; is_same: the name only
  std::string value;     // is_same: the value in ckpt's form; empty: none was typed
  std::string_view why;  // a clause for the message; may be empty
};

// Finds the row for `asked`. `has` tells whether the command has an option such as "--to". nullopt:
// the table does not have the word.
std::optional<OtherWord> other_word(const ForeignWord& asked,
                                    const std::function<bool(std::string_view)>& has);

}  // namespace ckpt
