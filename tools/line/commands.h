// The commands, one file each, and what they share. commands.cc lists them, by groups.
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

// Runs `command` on what was typed.
template <class Typed, class Function>
Run run_with(std::shared_ptr<Typed> typed, Function* command) {
  return [typed = std::move(typed), command](const Console& console, const CommonOptions& common) {
    return command(*typed, console, common);
  };
}

std::span<const Command* const> all_commands();     // by their groups
std::string_view group_of(const Command& command);  // "Convert and edit"

// The options of every command.
void declare_common(CommandOptions& options, CommonOptions& common);
// --follow-links, of every command that reads a folder.
void declare_follow_links(CommandOptions& options, OptionTarget target);

// Runs for each path separately: an error of one is printed, and the others still run.
// Returns the greatest exit code; for a single path its result.
Result<int> run_for_each(const std::vector<std::string>& paths, const Console& console,
                         const std::function<Result<int>(const std::string&)>& run);

// As read_checkpoint() does; sets `misfit`.
Result<Checkpoint> read_with_misfit(const std::string& path, const ReadOptions& reading,
                                    IndexMisfit& misfit);

// Says of one file of several, which was read alone, that the others were not; and how an index
// does not fit.
void note_shard(const std::string& path, const Checkpoint& checkpoint, const IndexMisfit& misfit,
                const Console& console);

// Set by SIGINT and SIGTERM.
extern std::atomic<bool> interrupted;

}  // namespace ckpt
