// Adds the typed options to commands that messages suggest.
//
//   typed      ckpt patch m.gguf --step x --dry-run
//   suggested  ckpt convert m.gguf OUT, which leaves them out
//   printed    ckpt convert m.gguf OUT --step x --dry-run, which leaves them out
//
// Code that suggests a command does not know the command line. The console passes all suggestions
// through with_typed() (console.h). Errors about lines that cannot be parsed call
// with_typed_words() themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/line/option.h"

namespace ckpt {

// The options that a command accepts, without values; empty if `verb` is not a command.
CommandOptions options_of(std::string_view verb);

// Where a suggestion is printed: instead of the typed command, or after it.
enum class SuggestionPlace : uint8_t { kInstead, kNext };

// Adds to `advice` those options typed to `ckpt VERB` that its command accepts and does not
// mention. If `advice` runs the same command on the same input, it keeps all of them; otherwise it
// keeps those in kKeptOptions. Advice that does not begin with a command of ckpt stays as it is.
std::string with_typed(std::string_view advice, std::string_view verb, const CommandOptions& typed,
                       SuggestionPlace place);

// Does the same for `words` that could not be parsed, as if they were typed to the suggested
// command.
std::string with_typed_words(std::string_view advice, std::span<const std::string> words);

}  // namespace ckpt
