// ckpt doctor --fix: the steps, through the patch engine; all of them or none.
#include "tools/doctor/doctor_fix.h"

#include <nlohmann/json.hpp>

#include "core/patch/patch.h"
#include "formats/formats.h"
#include "plan/conversion/patching.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

void show_files(const FixRequest& fix, const Patch& patch, const Console& console) {
  for (const PatchedFile& file : patch.files) {
    console.answer(
        fmt::format("{}{}: {}", fix.dry_run ? "would be " : "", name(file.change), file.path));
    if (fix.dry_run) {
      console.object("plan", {{"file", file.path},
                              {"change", name(file.change)},
                              {"new", file.is_new},
                              {"written_bytes", file.written_bytes}});
    } else {
      console.object("file", {{"path", file.path}, {"change", name(file.change)}});
    }
  }
}

// The doctor replaces nothing, so it has no --force.
Failure without_force(Error error) {
  if (error.hint.starts_with("--force")) error.hint = "another --out";
  return Failure(std::move(error));
}

Status apply_steps(const FixRequest& fix, const std::vector<std::string>& steps,
                   const Console& console, const CommonOptions& common) {
  Patching patching;
  patching.path = fix.path;
  patching.elsewhere = !fix.out.empty();
  patching.rewrite_weights = fix.fixing.rewrite_weights;
  CKPT_ASSIGN(patching.steps, parse_steps(steps));
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(patching));
  if (fix.dry_run) {
    show_files(fix, planned.patch, console);
    return {};
  }
  ProgressLine progress(console, fix.path.filename().string());
  PatchOptions options;
  options.execute.threads = common.threads;
  options.execute.memory_bytes = common.memory_bytes;
  options.execute.allow_nonfinite = true;  // what is in the weights is another check's matter
  options.execute.progress = &progress;
  options.execute.interrupted = &interrupted;
  const auto report = fix.out.empty()
                          ? apply_patch(planned.patch, options)
                          : write_patched(planned.patch, fix.out, LinkWay::kReflink, options);
  progress.clear();
  if (!report) return Failure(without_force(report.error()));
  show_files(fix, planned.patch, console);
  return {};
}

}  // namespace

Result<FixDone> apply_fixes(const FixRequest& fix, const Console& console,
                            const CommonOptions& common) {
  const bool is_in_place = fix.out.empty() && !fix.dry_run;
  if (is_in_place) CKPT_TRY(finish_earlier_patch(fix.path));
  CKPT_ASSIGN(const Format* format, recognize(fix.path));
  CKPT_ASSIGN(Checkpoint checkpoint, format->read(fix.path, all_codecs()));
  std::vector<std::string> notes;
  CKPT_ASSIGN(Fixed fixed, fix_checkpoint(std::move(checkpoint), fix.fixing, step_context(&notes)));
  for (const std::string& note : notes) console.warn(note);
  if (fixed.steps.empty()) {
    console.answer(
        fmt::format("{}: nothing that a step can fix; no file was touched", fix.path.string()));
    return FixDone{fix.path, std::nullopt};
  }
  CKPT_TRY(apply_steps(fix, fixed.steps, console, common));
  console.answer(fmt::format("{} by: {}{}", fix.dry_run ? "would be fixed" : "fixed",
                             fmt::join(fixed.steps, ", "),
                             fix.dry_run ? "; nothing was written (--dry-run)" : ""));
  if (fix.dry_run) return FixDone{fix.path, std::move(fixed.left)};
  return FixDone{fix.out.empty() ? fix.path : fix.out, std::nullopt};
}

}  // namespace ckpt
