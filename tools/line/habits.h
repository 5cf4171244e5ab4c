// Command lines as people know them from neighboring programs, in this one's words.
//
//   quantize IN [OUT] TYPE [N]   convert IN OUT --to TYPE --threads N
//   info, inspect, dump          show
//   -v, -V                       --version
//   --json, -q, ... VERB         VERB --json, -q, ...
//
// and options and commands of data/other_words.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tools/line/option.h"

namespace ckpt {

// `words` behind the program's name, with the verb first.
std::vector<std::string> in_own_words(std::vector<std::string> words);

// Requires that help is asked of one command at most, which a first word may follow: "imatrix
// merge". Fails: kUsage.
Status check_help_words(const std::vector<std::string>& words);

// The error for a line whose first word is not a verb: kUsage with the nearest, or its spelling
// here; of `split` and `merge` that is the whole line with the words that were typed.
Failure unknown_verb(const std::vector<std::string>& words, const std::vector<std::string>& verbs);
// Of the first option that other programs have, and the command has not.
Status check_other_options(const std::vector<std::string>& words, const CommandOptions& own);
// Of an option that no program is known to have.
Failure unknown_option(std::string_view word, std::string_view verb,
                       const std::vector<std::string>& options);

}  // namespace ckpt
