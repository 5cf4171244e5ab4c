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

inline bool stands_alone(const Option& option) { return !option.names.starts_with('-'); }

// "--to" and "--outtype", with their dashes; none of what stands alone.
inline std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> out;
  for (size_t at = 0; !stands_alone(option) && at < option.names.size();) {
    const size_t end = std::min(option.names.find(',', at), option.names.size());
    out.push_back(option.names.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// `words` follow the command's name. Fails: kUsage, naming the option and what to type.
Status check_typed_words(std::string_view command, std::span<const std::string> words,
                         const CommandOptions& options);

}  // namespace ckpt
