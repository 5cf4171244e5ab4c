// The texts of --help, -h, `ckpt` without arguments and `ckpt help WORD`, wrapped to a width.
#pragma once

#include <string>
#include <string_view>

#include "tools/line/commands.h"

namespace ckpt {

// The columns of the terminal at stdout or stderr; 80 if neither is a terminal.
size_t help_width();

// The placeholder of the value in help: "FILE", "auto|always|never"; empty for a flag.
std::string value_word(const Option& option);
// The full help: also the accepted values, excluding options and the environment variable.
std::string whole_help(const Option& option);

// "  TERM    HELP" with the help wrapped. The help begins on the next line if TERM is too long.
std::string help_entry(std::string_view term, std::string_view help, size_t width);

// Lists the commands by group, one line each.
std::string help_of_program(size_t width);
// `whole`: the text of --help. Otherwise -h: a short text for each option of the command, and one
// line for the options that every command has.
std::string help_of_command(const Command& command, const CommandOptions& options, bool whole,
                            size_t width);
// The help of the options that every command has.
std::string help_of_common(size_t width);
// The page of a topic, step, type, check, profile, family or architecture (help_words.cc).
// Fails: kUsage: `word` is none of these; the message names the topics, the hint the nearest word.
Result<std::string> help_of_word(std::string_view word, size_t width);

}  // namespace ckpt
