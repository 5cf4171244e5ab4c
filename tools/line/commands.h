// The interface of the commands and what they share. commands.cc lists them by group.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/printable.h"
#include "core/model/checkpoint.h"
#include "core/model/findings.h"
#include "core/model/format.h"
#include "tools/line/option.h"
#include "tools/say/console.h"

namespace ckpt {

// The function of a command, which runs after the options are parsed into their targets. Returns
// the exit code: 0 done, same or sound; 1 the answer is no. Errors become exit code 2 or 130.
using Run = std::function<Result<int>(const Console&, const CommonOptions&)>;

struct Command {
  std::string_view name;
  std::string_view help;      // one line
  std::string_view examples;  // shown first by --help
  // Declares the options. `options` and its targets must outlive the returned function.
  Run (*declare)(CommandOptions& options);
};

// Returns a Run that calls `command` with the typed options.
template <class Typed, class Function>
Run run_with(std::shared_ptr<Typed> typed, Function* command) {
  return [typed = std::move(typed), command](const Console& console, const CommonOptions& common) {
    return command(*typed, console, common);
  };
}

std::span<const Command* const> all_commands();     // by group
std::string_view group_of(const Command& command);  // "Convert and edit"

// Declares the options that every command has.
void declare_common(CommandOptions& options, CommonOptions& common);
// Declares --follow-links, for each command that reads a folder.
void declare_follow_links(CommandOptions& options, OptionTarget target);

// Runs for each path separately: if one fails, its error is printed and the others still run.
// Returns the greatest exit code; for a single path its result.
Result<int> run_for_each(const std::vector<std::string>& paths, const Console& console,
                         const std::function<Result<int>(const std::string&)>& run);

// Reads as read_checkpoint() does, and sets `misfit`.
Result<Checkpoint> read_with_misfit(const std::string& path, const ReadOptions& reading,
                                    FileMisfit& misfit);

// Notes that one shard was read without the others, and how an index does not match the files.
void note_shard(const std::string& path, const Checkpoint& checkpoint, const FileMisfit& misfit,
                const Console& console);

// Set by SIGINT and SIGTERM.
extern std::atomic<bool> interrupted;

}  // namespace ckpt
