#include "tools/commands/carry_patch.h"

#include <nlohmann/json.hpp>

#include "core/base/counted.h"
#include "core/base/printable.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "formats/formats.h"
#include "plan/conversion/targets.h"
#include "publish/publish.h"
#include "tools/commands/carry_out.h"
#include "tools/line/commands.h"
#include "tools/say/preview.h"

namespace ckpt {
namespace {

std::string describe_change(const PatchedFile& file) {
  switch (file.change) {
    case FileChange::kWritten: return file.is_new ? "written" : "replaced";
    case FileChange::kHeader: return "header in place, tensor bytes stay";
    case FileChange::kShifted: return "header, tensor bytes keep their blocks";
    case FileChange::kRewritten:
      return file.is_new ? "written with its tensors" : "rewritten with its tensors";
    case FileChange::kRemoved: return "removed";
  }
  return "";
}

void show_files(const Console& console, const Patch& patch) {
  Table table({"file", "change", "written"});
  for (const PatchedFile& file : patch.files) {
    table.add({file.path, describe_change(file), human_bytes(file.written_bytes)});
    console.object("plan", {{"file", file.path},
                            {"change", name(file.change)},
                            {"new", file.is_new},
                            {"written_bytes", file.written_bytes}});
  }
  console.answer_table(table, {false, false, true});
}

void show_summary(const Console& console, const PatchRun& run, const Patch& patch,
                  const ExecuteReport* report) {
  for (size_t i = 0; report != nullptr && i < report->files.size(); ++i) {
    if (!report->files[i].sha256.empty()) show_file(console, report->files[i]);
  }
  const auto& out = run.out.empty() ? run.path : run.out;
  console.object("summary", {{"path", out.string()},
                             {"dry_run", run.dry_run},
                             {"files", patch.files.size()},
                             {"read_bytes", report == nullptr ? 0 : report->read_bytes},
                             {"written_bytes", patch.written_bytes()},
                             {"seconds", report == nullptr ? 0.0 : report->seconds}});
}

// Returns the command to run after a patch, or "". A published folder has to be published again,
// because its checksums no longer match. A folder with neither weights nor config.json is treated
// as a tokenizer for a model.
std::string next_command(const std::filesystem::path& patched, const ReadOptions& reading) {
  std::error_code ignored;
  const auto place = is_folder(patched) ? patched : parent_of(patched);
  const bool has_sums = std::filesystem::exists(place / kSumsName, ignored);
  if (has_sums && check_published_targets(place)) {
    return fmt::format("ckpt publish {}", shell_path(place.string()));
  }
  const std::string path = shell_path(patched.string());
  const auto weights = files_of_weights(patched, reading);
  const bool is_model = !is_folder(patched) || weights ||
                        weights.error().code == ErrorCode::kCorrupt;  // the doctor explains damage
  if (is_model) return "ckpt doctor " + path;
  const bool has_config = std::filesystem::exists(patched / "config.json", ignored);
  return has_config ? std::string() : "ckpt convert MODEL OUT --tokenizer " + path;
}

}  // namespace

Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, const Console& console,
                                    const CommonOptions& common) {
  ConsoleObserver observer(console, &interrupted);
  ExecuteOptions how;
  how.threads = common.threads;
  how.memory_bytes = common.memory_bytes;
  return execute_patch(run, patch, observer, how);
}

Result<int> run_patch(const PatchRun& run, const Console& console, const CommonOptions& common,
                      size_t most_values) {
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(run));
  for (const std::string& note : planned.notes) console.warn(note);
  const Patch& plan = planned.patch;
  CKPT_TRY(check_name_of_out(run, plan));
  const Console told = console.summary();
  if (plan.changes_nothing() && run.out.empty()) {
    told.answer("{}: nothing to change; no file was touched", run.path.string());
    show_summary(console, run, plan, nullptr);
    return 0;
  }
  if (run.dry_run) {
    CKPT_TRY(check_patch_places(run, plan));
    show_changed_values(console, planned.before, plan.after.checkpoint, most_values);
    show_files(console, plan);
    console.answer("{}: {}, {} to write; nothing was written (--dry-run)", run.path.string(),
                   counted(plan.files.size(), "file"), human_bytes(plan.written_bytes()));
    show_summary(console, run, plan, nullptr);
    return 0;
  }
  CKPT_ASSIGN(const ExecuteReport report, execute_patch(run, plan, console, common));
  show_changed_values(told, planned.before, plan.after.checkpoint, most_values);
  show_files(told, plan);
  show_summary(console, run, plan, &report);
  const auto& out = run.out.empty() ? run.path : run.out;
  console.next(next_command(out, run.reading));
  return 0;
}

}  // namespace ckpt
