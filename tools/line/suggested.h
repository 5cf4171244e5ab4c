// Commands that messages suggest, completed with the options that were typed.
//
//   typed      ckpt patch m.gguf --step x --dry-run
//   suggested  ckpt convert m.gguf OUT, which leaves them out
//   printed    ckpt convert m.gguf OUT --step x --dry-run, which leaves them out
//
// The parts of the program suggest what their subject needs and know no command line. Everything
// that is printed passes through here (console.h), except for lines that could not be parsed,
// whose errors call this themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/line/option.h"

namespace ckpt {

// The options of a command and those of every command, for their names; none of other words.
CommandOptions options_of(std::string_view verb);

// Where a suggestion is printed: instead of the typed command, or after it.
enum class Suggested : uint8_t { kInstead, kNext };

// `advice` with the options of `ckpt VERB` that its command takes and does not mention. The same
// command on the same input keeps all; after it and for other commands kCarried has what is kept.
// Advice that does not begin with a command of ckpt stays as it is.
std::string with_typed(std::string_view advice, std::string_view verb, const CommandOptions& typed,
                       Suggested place);

// The same for a line that begins with a word that is not a command.
std::string with_typed_words(std::string_view advice, std::span<const std::string> words);

}  // namespace ckpt
