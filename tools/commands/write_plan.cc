#include "tools/commands/write_plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/io/folder.h"
#include "plan/conversion/targets.h"
#include "plan/text/plan_file.h"

namespace ckpt {
namespace fs = std::filesystem;

Result<int> write_plan(Conversion conversion, const fs::path& path, const Console& console) {
  const bool to_stdout = path == "-";
  if (to_stdout && console.json()) {
    return fail_with_hint(ErrorCode::kUsage, "--plan-out - alone, the plan is JSON",
                          "--plan-out - with --json");
  }
  if (!to_stdout) CKPT_TRY(check_plan_target(path, conversion.force));
  CKPT_ASSIGN(conversion, settled(std::move(conversion)));
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  for (const std::string& note : planned.notes) console.warn(note);
  CKPT_ASSIGN(const PlanFile file, plan_file_of(std::move(conversion), planned.plan));
  const std::string text = render_plan_file(file, planned.plan);
  if (text.find("\\ufffd") != text.npos) {
    return fail(ErrorCode::kUnsupported, "{}: a plan cannot hold a name that is not UTF-8",
                path.string());
  }
  if (to_stdout) {
    // Data for another program: not made printable, as answers are. main() sees to its arrival.
    (void)!std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  CKPT_TRY(replace_file(path, text));
  uint64_t bytes = 0, files = 0;
  for (const Output& output : planned.plan.outputs) {
    for (const OutputFile& one : output.layout.files) bytes += one.size_bytes;
    files += output.layout.files.size();
  }
  console.answer(fmt::format("{}: {} file(s), {}", path.string(), files, human_bytes(bytes)));
  console.object(
      "plan-file",
      {{"path", path.string()}, {"digest", file.digest}, {"files", files}, {"size_bytes", bytes}});
  console.talk(fmt::format("Next: ckpt execute {}", shell_path(path.string())));
  return 0;
}

}  // namespace ckpt
