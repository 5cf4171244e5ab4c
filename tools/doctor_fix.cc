// ckpt doctor --fix: the mends, through the patch engine; all of them or none.
#include "tools/doctor_fix.h"

#include <nlohmann/json.hpp>

#include "core/patch/patch.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/patching.h"

namespace ckpt {
namespace {

Status apply_steps_in_place(const Fix& fix, const std::vector<std::string>& steps,
                            const Console& console, const CommonOptions& common) {
  Patching patching;
  patching.path = fix.path;
  patching.rewrite_weights = fix.mending.rewrite_weights;
  CKPT_ASSIGN(patching.steps, parse_steps(steps));
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(patching));
  if (planned.patch.changes_nothing()) return {};
  ProgressLine progress(console, fix.path.filename().string());
  PatchOptions options;
  options.execute.threads = common.threads;
  options.execute.memory_bytes = common.memory_bytes;
  options.execute.allow_nonfinite = true;  // what is in the weights is another check's matter
  options.execute.progress = &progress;
  options.execute.interrupted = &interrupted;
  const auto report = apply_patch(planned.patch, options);
  progress.clear();
  if (!report) return Failure(report.error());
  for (const PatchedFile& file : planned.patch.files) {
    console.answer(fmt::format("{}: {}", name(file.change), file.path));
    console.object("file", {{"path", file.path}, {"change", name(file.change)}});
  }
  return {};
}

}  // namespace

Status fix_in_place(const Fix& fix, const Console& console, const CommonOptions& common) {
  CKPT_TRY(finish_earlier_patch(fix.path));
  CKPT_ASSIGN(const Format* format, recognise(fix.path));
  CKPT_ASSIGN(Checkpoint checkpoint, format->read(fix.path, all_codecs()));
  std::vector<std::string> notes;
  CKPT_ASSIGN(const Mended mended, mend(std::move(checkpoint), fix.mending, step_context(&notes)));
  for (const std::string& note : notes) console.warn(note);
  if (mended.steps.empty()) {
    console.answer("nothing that a step can mend");
    return {};
  }
  CKPT_TRY(apply_steps_in_place(fix, mended.steps, console, common));
  console.answer(fmt::format("mended by: {}", fmt::join(mended.steps, ", ")));
  return {};
}

}  // namespace ckpt
