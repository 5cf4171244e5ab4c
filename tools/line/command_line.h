// The command line as a whole: which command was typed, with its options in place.
#pragma once

#include <memory>
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
// command takes go to `common`. Null: --help or --version, whose text was printed.
// Fails with kUsage and what to type.
Result<std::unique_ptr<Verb>> parse_command_line(const std::vector<std::string>& words,
                                                 CommonOptions& common);

}  // namespace ckpt
