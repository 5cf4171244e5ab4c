#include "tools/line/commands.h"

#include "formats/formats.h"

namespace ckpt {

std::span<const Command* const> all_commands() {
  static constexpr const Command* kAll[] = {
      &kConvertCommand, &kPatchCommand,      &kSetCommand,     &kGetCommand,
      &kDoctorCommand,  &kShowCommand,       &kDiffCommand,    &kReportCommand,
      &kImatrixCommand, &kVerifyCommand,     &kPublishCommand, &kExecuteCommand,
      &kListCommand,    &kCompletionCommand, &kManCommand,     &kVersionCommand};
  return kAll;
}

void declare_common(CommandOptions& options, CommonOptions& common, std::string& memory) {
  options.add("--json", &common.json, "one JSON object a line on stdout");
  options.add("--quiet,-q", &common.quiet, "no progress, notes or summary");
  options.add("-j,-t,--threads", &common.threads, "cores to use (default: all)").bounds = {1, 1024};
  options.add("--memory", &memory, "what buffers may take (default: 512M)");
  options
      .add("--progress", &common.progress,
           "auto (default), plain (a line every 30 seconds, as without a terminal), json (objects "
           "among those of --json) or none")
      .choices = {"auto", "plain", "json", "none"};
  options.add("--color", &common.color, "auto, always or never").choices = {"auto", "always",
                                                                            "never"};
}

void declare_follow_links(CommandOptions& options) {
  options.add(
      "--follow-links", [] { follow_links(true); },
      "read config, tokenizer and other small files through links that lead out of the folder");
}

}  // namespace ckpt
