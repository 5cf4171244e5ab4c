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

class CommandLine {
 public:
  // Declares all commands; what every command takes goes to `common`.
  CommandLine(CommonOptions& common);
  ~CommandLine();

  // Reads `words`, the command first, and puts values in their places. Null: --help or --version,
  // whose text was printed. Fails with kUsage and what to type.
  Result<const Verb*> parse(const std::vector<std::string>& words);

 private:
  struct Parser;  // CLI11's
  std::unique_ptr<Parser> parser_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace ckpt
