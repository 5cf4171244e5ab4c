// The commands, one file each, and what they share. main.cc lists them.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "core/printable.h"
#include "tools/console.h"

namespace CLI {
class App;  // <CLI/CLI.hpp>, which takes seconds to compile
}

namespace ckpt {

// Parses into a struct of its own when the command line is read; runs after that and only then
// does work. Returns the exit code: 0 done, same, sound; 1 the answer is no; errors become 2 or
// 130.
using Run = std::function<Result<int>(const Console&, const CommonOptions&)>;

struct Command {
  std::string_view name;
  std::string_view help;      // one line
  std::string_view examples;  // shown first by --help
  Run (*declare)(CLI::App& app);
};

extern const Command kConvert, kPatch, kDoctor, kShow, kDiff, kVerify, kPublish, kExecute, kList;
extern const Command kCompletion;

// Set by SIGINT and SIGTERM.
extern std::atomic<bool> interrupted;

}  // namespace ckpt
