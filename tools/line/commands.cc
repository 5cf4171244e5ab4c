#include "tools/line/commands.h"

#include <algorithm>
#include <vector>

#include "formats/formats.h"
#include "quantizers/quantizers.h"

namespace ckpt {

// Each command is defined in its own source file.
extern const Command kConvertCommand, kPatchCommand, kSetCommand, kGetCommand, kExecuteCommand,
    kPlanCommand, kImatrixCommand, kShowCommand, kDiffCommand, kReportCommand, kListCommand,
    kDoctorCommand, kVerifyCommand, kPublishCommand, kScriptCommand, kCompletionCommand,
    kManCommand, kVersionCommand;

namespace {

struct Grouped {
  std::string_view group;
  const Command* command;
};
constexpr std::string_view kMake = "Convert and edit", kLook = "Look", kShip = "Check and publish",
                           kOwn = "This program";
constexpr Grouped kCommands[] = {
    {kMake, &kConvertCommand},   {kMake, &kPatchCommand},   {kMake, &kSetCommand},
    {kMake, &kImatrixCommand},   {kMake, &kExecuteCommand}, {kMake, &kPlanCommand},
    {kLook, &kShowCommand},      {kLook, &kGetCommand},     {kLook, &kDiffCommand},
    {kLook, &kReportCommand},    {kLook, &kListCommand},    {kShip, &kDoctorCommand},
    {kShip, &kVerifyCommand},    {kShip, &kPublishCommand}, {kOwn, &kScriptCommand},
    {kOwn, &kCompletionCommand}, {kOwn, &kManCommand},      {kOwn, &kVersionCommand},
};

}  // namespace

std::span<const Command* const> all_commands() {
  static const std::vector<const Command*> all = [] {
    std::vector<const Command*> out;
    for (const Grouped& one : kCommands) out.push_back(one.command);
    return out;
  }();
  return all;
}

std::string_view group_of(const Command& command) {
  return std::ranges::find(kCommands, &command, &Grouped::command)->group;
}

void declare_common(CommandOptions& options, CommonOptions& common) {
  const auto add = [&](const char* names, OptionTarget target, const char* help) -> Option& {
    Option& option = options.add(names, std::move(target), help);
    option.group = "Every command";
    return option;
  };
  add("--json", &common.json, "one JSON object per line on stdout");
  add("--quiet,-q", &common.quiet, "no progress, notes or summary");
  Option& threads = add("-j,-t,--threads N", &common.threads, "cores to use (default: all)");
  threads.bounds = {1, 1024};
  threads.environment = "CKPT_THREADS";
  add("--memory SIZE", &common.typed_memory, "memory for buffers (default: 512M)").environment =
      "CKPT_MEMORY";
  add("--limit-rate SIZE", &common.typed_limit_rate,
      "bytes per second from and to URLs, in total (default: no limit)")
      .environment = "CKPT_LIMIT_RATE";
  add("--progress MODE", &common.progress,
      "how progress is shown: auto, plain, json or none (default: auto); plain: a line every 30 "
      "seconds, as without a terminal; json: objects among those of --json")
      .choices = {"auto", "plain", "json", "none"};
  Option& color = add("--color WHEN", &common.color, "auto, always or never (default: auto)");
  color.choices = {"auto", "always", "never"};
  color.environment = "CKPT_COLOR";
}

void declare_follow_links(CommandOptions& options, OptionTarget target) {
  options.add(
      "--follow-links", std::move(target),
      "also read small files through links that leave the folder; config, tokenizer and others");
}

Result<int> run_for_each(const std::vector<std::string>& paths, const Console& console,
                         const std::function<Result<int>(const std::string&)>& run) {
  if (paths.size() == 1) return run(paths[0]);
  int greatest = 0;
  for (const std::string& path : paths) {
    if (&path != &paths[0]) console.answer("");
    auto code = run(path);
    if (!code && code.error().code == ErrorCode::kInterrupted) return code;
    if (!code) console.error(code.error());
    greatest = std::max(greatest, code ? *code : exit_code(code.error()));
  }
  return greatest;
}

Result<Checkpoint> read_with_misfit(const std::string& path, const ReadOptions& reading,
                                    FileMisfit& misfit) {
  CKPT_TRY(recognize(path));
  return read_despite_misfit(path, all_codecs(), reading, misfit);
}

void note_shard(const std::string& path, const Checkpoint& checkpoint, const FileMisfit& misfit,
                const Console& console) {
  const std::string words = checkpoint.shard_words();
  if (!words.empty()) console.warn("{}: {}; the others are not read", path, words);
  if (!misfit.found.empty()) console.warn("{}: {}", path, misfit.found);
}

}  // namespace ckpt
