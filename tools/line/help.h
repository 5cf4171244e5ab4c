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

// "  TERM    HELP", the help wrapped; below a term that is too long.
std::string help_entry(std::string_view term, std::string_view help, size_t width);

// The commands, in their groups, one line each.
std::string help_of_program(size_t width);
// `whole`: --help; else -h, a short text for each option and those of every command in a line.
std::string help_of_command(const Command& command, const CommandOptions& options, bool whole,
                            size_t width);
// Of the options of every command.
std::string help_of_common(size_t width);
// Of a topic, a step, a type, a check, a profile, a family or an architecture (help_words.cc).
// Fails: kUsage: none of these; it names the topics, and the nearest.
Result<std::string> help_of_word(std::string_view word, size_t width);

}  // namespace ckpt
