#include "tools/commands/carry_patch.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "core/io/remembered.h"
#include "core/io/remote_files.h"
#include "core/outputs/place.h"
#include "plan/conversion/targets.h"
#include "publish/publish.h"
#include "tools/commands/carry_out.h"
#include "tools/line/commands.h"
#include "tools/say/preview.h"

namespace ckpt {
namespace {

std::string what_happens(const PatchedFile& file) {
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
  Table table({"file", "change", "bytes"});
  for (const PatchedFile& file : patch.files) {
    table.add({file.path, what_happens(file), fmt::format("{}", file.written_bytes)});
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

bool makes_values(const Output& output) {
  const auto& tensors = output.checkpoint.tensors;
  return std::ranges::any_of(tensors, [](const Tensor& tensor) { return !tensor.is_stored(); });
}

Result<LinkWay> parse_link(const std::string& text) {
  if (text == "reflink") return LinkWay::kReflink;
  if (text == "hard") return LinkWay::kHard;
  if (text == "copy") return LinkWay::kCopy;
  return misuse("--link {}; expected reflink, hard or copy", text);
}

// The files that do not change get a second name in OUT.
Status check_same_disk(const Patch& patch, const std::filesystem::path& out) {
  struct stat there {};
  if (::stat(parent_of(out).c_str(), &there) != 0) return {};
  const Layout& layout = patch.after.layout;
  for (size_t i = 0; i < layout.files.size(); ++i) {
    const bool changes = std::ranges::any_of(patch.files, [&](const PatchedFile& file) {
      return file.change != FileChange::kRemoved && file.file == i;
    });
    struct stat here {};
    const auto path = final_path(patch.after, layout.files[i]);
    if (changes || ::stat(path.c_str(), &here) != 0 || here.st_dev == there.st_dev) continue;
    return misuse_hint("--link copy", "{}: lies on another disk than {}", out.string(),
                       path.string());
  }
  return {};
}

// Sums of a published folder are older than what was just changed.
std::string next_command(const std::filesystem::path& patched) {
  std::error_code ignored;
  const auto place = is_folder(patched) ? patched : parent_of(patched);
  const bool has_sums = std::filesystem::exists(place / kSumsName, ignored);
  if (has_sums && check_published_targets(place)) {
    return fmt::format("ckpt publish {}", shell_path(place.string()));
  }
  return fmt::format("ckpt doctor {}", shell_path(patched.string()));
}

}  // namespace

Status check_patch_places(const PatchRun& run, const Patch& patch, LinkWay link) {
  if (run.out.empty()) return check_patchable(patch);
  Output out{run.out, {}, patch.after.layout};
  out.layout.is_folder = !goes_into_one_file(patch, run.out);
  std::error_code ignored;
  const bool makes_way =
      out.layout.is_folder && is_folder(run.out) && std::filesystem::is_empty(run.out, ignored);
  CKPT_TRY(check_place(out, makes_way));
  if (!out.layout.is_folder) return {};
  if (run.dry_run) CKPT_TRY(check_temporary_folder(out));  // else once it is locked
  return link == LinkWay::kHard ? check_same_disk(patch, run.out) : Status();
}

Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, LinkWay link,
                                    const Console& console, const CommonOptions& common) {
  CKPT_TRY(check_patch_places(run, patch, link));
  ProgressLine progress(console, run.path.filename().string());
  PatchOptions options;
  options.execute.threads = common.threads;
  options.execute.memory_bytes = common.memory_bytes;
  // Bytes that only move are not judged.
  options.execute.allow_nonfinite = run.allow_nonfinite || !makes_values(patch.after);
  options.execute.progress = &progress;
  options.execute.interrupted = &interrupted;
  auto report =
      run.out.empty() ? apply_patch(patch, options) : write_patched(patch, run.out, link, options);
  progress.clear();
  const bool is_of_hub = report && !run.out.empty() && run.path.native().starts_with("hf://");
  if (!is_of_hub) return report;
  CKPT_ASSIGN(const std::filesystem::path pinned, pinned_path(run.path));
  for (const FileReport& file : report->files) {
    remember_sources(file.path, file.sha256, {pinned.string()});
  }
  return report;
}

Status finish_earlier(const Console& console, const std::filesystem::path& path, JournalFrom from) {
  CKPT_ASSIGN(const PatchState found, finish_earlier_patch(path, {}, from));
  if (found == PatchState::kUnfinished) {
    console.warn("{}: an interrupted patch was finished first", path.string());
  } else if (found == PatchState::kLeftovers) {
    console.warn("{}: leftovers of an interrupted patch were removed; it had changed nothing",
                 path.string());
  }
  return {};
}

Status check_patched_out(PatchRun& run) {
  run.elsewhere = !run.out.empty();
  if (!run.elsewhere) return {};
  CKPT_ASSIGN(run.out, target_path(run.out));
  CKPT_ASSIGN(const bool exists, in("--out", is_there(run.out)));
  std::error_code ignored;
  const bool is_empty = is_folder(run.out) && std::filesystem::is_empty(run.out, ignored);
  if (exists && !is_empty) {
    return misuse_hint("another name, where nothing is",
                       "--out {}: exists already; expected a new place", run.out.string());
  }
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(run.path, error);
  const auto out = std::filesystem::weakly_canonical(run.out, error);
  if (error || !is_within(out, path)) return {};
  return misuse_hint("a folder next to it", "--out {}: is inside {}", run.out.string(),
                     run.path.string());
}

Status check_name_of_out(const PatchRun& run, const Patch& patch) {
  if (run.out.empty() || !names_own_file(run.out) || goes_into_one_file(patch, run.out)) return {};
  const Layout& layout = patch.after.layout;
  const bool is_one_file = !layout.is_folder && layout.files.size() == 1;
  std::filesystem::path meant = run.out;
  meant.replace_extension(is_one_file ? "." + patch.after.checkpoint.format : "");
  const std::string what = is_one_file ? fmt::format("one {} file", patch.after.checkpoint.format)
                           : layout.is_folder ? "a folder"
                                              : fmt::format("{} files", layout.files.size());
  return misuse_hint("--out " + shell_path(meant.string()),
                     "--out {}: the name of a {} file; {} is {}, and stays that", run.out.string(),
                     run.out.extension().string(), run.path.string(), what);
}

Result<int> run_patch(const PatchRun& run, const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(const LinkWay link, parse_link(run.link));
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(run));
  for (const std::string& note : planned.notes) console.warn(note);
  const Patch& plan = planned.patch;
  CKPT_TRY(check_name_of_out(run, plan));
  if (plan.changes_nothing() && run.out.empty()) {
    console.answer("{}: nothing to change; no file was touched", run.path.string());
    show_summary(console, run, plan, nullptr);
    return 0;
  }
  if (run.dry_run) {
    CKPT_TRY(check_patch_places(run, plan, link));
    show_changed_values(console, planned.before, plan.after.checkpoint, run.most_values);
    show_files(console, plan);
    console.answer("{}: {} file(s), {} bytes to write; nothing was written (--dry-run)",
                   run.path.string(), plan.files.size(), plan.written_bytes());
    show_summary(console, run, plan, nullptr);
    return 0;
  }
  CKPT_ASSIGN(const ExecuteReport report, execute_patch(run, plan, link, console, common));
  show_changed_values(console, planned.before, plan.after.checkpoint, run.most_values);
  show_files(console, plan);
  show_summary(console, run, plan, &report);
  const auto& out = run.out.empty() ? run.path : run.out;
  console.talk("Next: " + next_command(out));
  return 0;
}

}  // namespace ckpt
