// The texts of --help, -h, `ckpt` alone and `ckpt help WORD`, fitted to a width.
#pragma once

#include <string>
#include <string_view>

#include "tools/line/commands.h"

namespace ckpt {

// Columns of the terminal that stdout or stderr is; 80 where there is none.
size_t help_width();

// As help calls the value: "FILE", "auto|always|never"; empty for a flag.
std::string value_word(const Option& option);
// The help with what its value may be, which option excludes it, and its variable.
std::string whole_help(const Option& option);

// "  TERM    HELP" with the help wrapped. The help begins on the next line if TERM is too long.
std::string help_entry(std::string_view term, std::string_view help, size_t width);

// The commands, in their groups, one line each.
std::string help_of_program(size_t width);
// `whole`: the text of --help. Otherwise -h: a short text for each option of the command, and one
// line for the options that every command has.
std::string help_of_command(const Command& command, const CommandOptions& options, bool whole,
                            size_t width);
// The help of options that every command has.
std::string help_of_common(size_t width);
// The page of a topic, step, type, check, profile, family or architecture (help_words.cc).
// Fails: kUsage: `word` is none of these; the message names the topics, the hint the nearest word.
Result<std::string> help_of_word(std::string_view word, size_t width);

}  // namespace ckpt
