// The commands, one file each, and what they share. commands.cc lists them.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string_view>

#include "core/base/printable.h"
#include "tools/line/option.h"
#include "tools/say/console.h"

namespace ckpt {

// Parses into a struct of its own when the command line is read; runs after that and only then
// does work. Returns the exit code: 0 done, same, sound; 1 the answer is no; errors become 2 or
// 130.
using Run = std::function<Result<int>(const Console&, const CommonOptions&)>;

struct Command {
  std::string_view name;
  std::string_view help;      // one line
  std::string_view examples;  // shown first by --help
  // Says what the command takes. Both must outlive what is given back.
  Run (*declare)(CommandOptions& options);
};

extern const Command kConvertCommand, kPatchCommand, kDoctorCommand, kShowCommand, kDiffCommand,
    kVerifyCommand, kPublishCommand, kExecuteCommand, kListCommand;
extern const Command kCompletionCommand, kGetCommand, kImatrixCommand, kManCommand, kReportCommand,
    kSetCommand, kVersionCommand;

std::span<const Command* const> all_commands();

// What every command takes.
void declare_common(CommandOptions& options, CommonOptions& common, std::string& memory);
// --follow-links, of every command that reads a folder.
void declare_follow_links(CommandOptions& options);

// Set by SIGINT and SIGTERM.
extern std::atomic<bool> interrupted;

}  // namespace ckpt
