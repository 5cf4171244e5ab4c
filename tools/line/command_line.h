// The command line as a whole: which command was typed, with its options in place, and what may
// follow on a line that is still being typed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/line/commands.h"

namespace ckpt {

// A command with what it declared.
struct Verb {
  const Command* command;
  CommandOptions options;
  Run run;
};

// Parses `words`, which begin with the command, and stores the values of options. Values of options
// that every command has go to `common`, whose with_typed refers to the returned Verb. Returns null
// after printing the text of --help or --version. Fails: kUsage with a hint.
Result<std::unique_ptr<Verb>> parse_command_line(const std::vector<std::string>& words,
                                                 CommonOptions& common);

// `ckpt complete WORD...`, which the scripts of `ckpt completion` run. It is not a command, because
// nothing can parse an unfinished line.
inline constexpr std::string_view kCompleteWord = "complete";
// `words`: those typed after "ckpt", the last one unfinished and perhaps empty. Gives the words
// that may replace it, one a line, each with a tab and its help; nothing where a file may follow.
std::string completions(std::span<const std::string> words);

}  // namespace ckpt
