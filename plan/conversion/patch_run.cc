#include "plan/conversion/patch_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "core/base/printable.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "core/io/remembered.h"
#include "core/io/remote_files.h"
#include "core/outputs/place.h"
#include "formats/formats.h"
#include "plan/conversion/targets.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

bool makes_values(const Output& output) {
  const auto& tensors = output.checkpoint.tensors;
  return std::ranges::any_of(tensors, [](const Tensor& tensor) { return !tensor.is_stored(); });
}

// Requires OUT on the same disk, because unchanged files are hard-linked there.
Status check_same_disk(const Patch& patch, const fs::path& out) {
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

}  // namespace

Status check_patch_places(const PatchRun& run, const Patch& patch) {
  if (run.out.empty()) return check_patchable(patch);
  Output out{run.out, {}, patch.after.layout};
  out.layout.is_folder = !goes_into_one_file(patch, run.out);
  std::error_code ignored;
  const bool makes_way =
      out.layout.is_folder && is_folder(run.out) && fs::is_empty(run.out, ignored);
  CKPT_TRY(check_place(out, makes_way));
  if (!out.layout.is_folder) return {};
  if (run.dry_run) CKPT_TRY(check_temporary_folder(out));  // otherwise checked once it is locked
  return run.link == LinkWay::kHard ? check_same_disk(patch, run.out) : Status();
}

Result<ExecuteReport> execute_patch(const PatchRun& run, const Patch& patch, Observer& observer,
                                    ExecuteOptions options) {
  CKPT_TRY(check_patch_places(run, patch));
  const std::unique_ptr<Progress> progress = observer.progress(run.path.filename().string());
  // NaN and Inf are not checked in bytes that only move.
  options.allow_nonfinite = run.allow_nonfinite || !makes_values(patch.after);
  options.progress = progress.get();
  options.interrupted = observer.cancelled();
  const PatchOptions how{options};
  auto report =
      run.out.empty() ? apply_patch(patch, how) : write_patched(patch, run.out, run.link, how);
  const bool is_of_hub = report && !run.out.empty() && run.path.native().starts_with("hf://");
  if (!is_of_hub) return report;
  CKPT_ASSIGN(const fs::path pinned, pinned_path(run.path));
  for (const FileReport& file : report->files) {
    remember_sources(file.path, file.sha256, {pinned.string()});
  }
  return report;
}

Result<PatchState> earlier_patch(const PatchRun& run) {
  if (!run.elsewhere) CKPT_TRY(refuse_url(run.path));
  PatchState found = PatchState::kNone;
  if (!is_url(run.path)) CKPT_SET(found, patch_state(run.path));
  const bool can_finish = found != PatchState::kNone && !run.elsewhere;
  if (!run.steps.empty() || can_finish) return found;
  std::error_code ignored;
  const bool exists = is_url(run.path) || fs::exists(run.path, ignored);
  if (!exists) CKPT_TRY(recognize(run.path));
  return misuse_hint("ckpt list steps", "{}: no --step, and no interrupted patch to finish",
                     run.path.string());
}

Status finish_earlier(const fs::path& path, Observer& observer, JournalFrom from) {
  CKPT_ASSIGN(const PatchState found, finish_earlier_patch(path, {}, from));
  if (found == PatchState::kUnfinished) {
    observer.note(fmt::format("{}: an interrupted patch was finished first", path.string()));
  } else if (found == PatchState::kLeftovers) {
    observer.note(
        fmt::format("{}: leftovers of an interrupted patch were removed; it had changed nothing",
                    path.string()));
  }
  return {};
}

Status check_patched_out(PatchRun& run) {
  run.elsewhere = !run.out.empty();
  if (!run.elsewhere) return {};
  CKPT_ASSIGN(run.out, target_path(run.out));
  CKPT_ASSIGN(const bool exists, in("--out", is_there(run.out)));
  std::error_code ignored;
  const bool is_empty = is_folder(run.out) && fs::is_empty(run.out, ignored);
  if (exists && !is_empty) {
    return misuse_hint("another name, where nothing is",
                       "--out {}: exists already; expected a new place", run.out.string());
  }
  std::error_code error;
  const auto path = fs::weakly_canonical(run.path, error);
  const auto out = fs::weakly_canonical(run.out, error);
  if (error || !is_within(out, path)) return {};
  return misuse_hint("a folder next to it", "--out {}: is inside {}", run.out.string(),
                     run.path.string());
}

Status check_name_of_out(const PatchRun& run, const Patch& patch) {
  if (run.out.empty() || !names_own_file(run.out) || goes_into_one_file(patch, run.out)) return {};
  const Layout& layout = patch.after.layout;
  const bool is_one_file = !layout.is_folder && layout.files.size() == 1;
  fs::path meant = run.out;
  meant.replace_extension(is_one_file ? "." + patch.after.checkpoint.format : "");
  const std::string what = is_one_file ? fmt::format("one {} file", patch.after.checkpoint.format)
                           : layout.is_folder ? "a folder"
                                              : fmt::format("{} files", layout.files.size());
  return misuse_hint("--out " + shell_path(meant.string()),
                     "--out {}: the name of a {} file; {} is {}, and stays that", run.out.string(),
                     run.out.extension().string(), run.path.string(), what);
}

}  // namespace ckpt
