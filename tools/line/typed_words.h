// Checks the values of options and positionals before the parser assigns them:
//
//   --out ''   --out=   ''      an empty value: an unset shell variable
//   --out --   --out --json     the value is missing, and the next word would be consumed instead
//
// The rule holds for every option of every command, including values in the same word (-oOUT) and
// optional values.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tools/line/option.h"

namespace ckpt {

// `words` follow the command's name. Fails: kUsage; names the option and what to type.
Status check_typed_words(std::string_view command, std::span<const std::string> words,
                         const CommandOptions& options);

}  // namespace ckpt
