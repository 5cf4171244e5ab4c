// Accepts command lines that people know from other programs, by rewriting them as ckpt's own:
//
//   quantize IN [OUT] TYPE [N]   convert IN OUT --to TYPE --threads N
//   info, inspect, dump          show
//   -v, -V                       --version
//   --json, -q, ... VERB         VERB --json, -q, ...
//
// data/other_words.txt lists further options and commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tools/line/option.h"

namespace ckpt {

// Rewrites `words`, which follow the program's name. The result begins with the verb.
std::vector<std::string> in_own_words(std::vector<std::string> words);

// Requires that help is requested for at most one command, which a subcommand may follow: "imatrix
// merge". Fails: kUsage.
Status check_help_words(const std::vector<std::string>& words);

// The error for a line whose first word is not a verb: kUsage with the nearest verb or ckpt's name
// for it; for `split` and `merge`, the full equivalent line.
Failure unknown_verb(const std::vector<std::string>& words, const std::vector<std::string>& verbs);
// Fails on the first option that the command does not have but another program has. The error names
// ckpt's counterpart: kUsage.
Status check_other_options(const std::vector<std::string>& words, const CommandOptions& own);
// The error for an option that neither ckpt nor the table of other programs has: kUsage with the
// nearest.
Failure unknown_option(std::string_view word, std::string_view verb,
                       const std::vector<std::string>& options);

}  // namespace ckpt
