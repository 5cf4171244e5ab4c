// One rule about the values of options and the words that stand alone, held before the parser
// places any of them:
//
//   --out ''   --out=   ''      an empty value: a variable of the shell that was not set
//   --out --   --out --json     the value is missing, and another word would be eaten for it
//
// Every option of every command is held to it, those in one word (-oOUT) and those with an optional
// value included.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tools/line/option.h"

namespace ckpt {

// `words` follow the command's name. Fails: kUsage, naming the option and what to type.
Status check_typed_words(std::string_view command, std::span<const std::string> words,
                         const CommandOptions& options);

}  // namespace ckpt
