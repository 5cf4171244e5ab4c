// Parses complete command lines and completes unfinished ones.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/line/commands.h"

namespace ckpt {

// A command with the options that it declared.
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
// `words` follow "ckpt"; the last one is unfinished and may be empty. Returns the words that may
// replace it, one per line, each with a tab and its help; nothing if a file may follow.
std::string completions(std::span<const std::string> words);

}  // namespace ckpt
