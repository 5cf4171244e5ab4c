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

// Reads `words`, the command first, and puts values in their places; those of options that every
// command takes go to `common`, which refers to what is given back. Null: --help or --version,
// whose text was printed. Fails with kUsage and what to type.
Result<std::unique_ptr<Verb>> parse_command_line(const std::vector<std::string>& words,
                                                 CommonOptions& common);

// `ckpt complete WORD...`, which the scripts of `ckpt completion` run. It is not a command, because
// nothing can parse an unfinished line.
inline constexpr std::string_view kCompleteWord = "complete";
// `words`: those typed after "ckpt", the last one unfinished and perhaps empty. Gives the words
// that may replace it, one a line, each with a tab and its help; nothing where a file may follow.
std::string completions(std::span<const std::string> words);

}  // namespace ckpt
