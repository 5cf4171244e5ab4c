#include "plan/plan.h"

#include <memory>

#include "core/base/threads.h"
#include "core/io/files_read.h"
#include "plan/conversion/option_table.h"
#include "plan/conversion/patch_run.h"
#include "plan/conversion/pipeline.h"
#include "plan/diagnosed.h"
#include "plan/size_target/size_target.h"
#include "plan/text/type_names.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

Result<Conversion> conversion_of(const fs::path& in, const fs::path& out,
                                 const ConvertOptions& options) {
  Conversion made;
  made.in = in;
  made.out = out;
  made.to = options.to;
  made.profiles = options.profiles;
  made.steps = options.steps;
  made.force = options.force;
  made.reading = options.reading;
  for (const std::string& step : made.steps) made.given.push_back({"step", step, false});
  if (!made.to.empty()) made.given.push_back({"to", made.to, false});
  for (const auto& [name, value] : options.more) {
    const ConvertOption* option = find_kept_option(name, OptionPersistence::kRecipe);
    if (option == nullptr) {
      return misuse_hint("one of docs/RECIPES.md", "option '{}' is not known", name);
    }
    made.given.push_back({std::string(option->name), value, false});
    CKPT_TRY(set_option(made, *option, value, ""));
  }
  return made;
}

}  // namespace

Result<Converted> convert(const fs::path& in, const fs::path& out, const ConvertOptions& options,
                          Observer* observer) {
  Observer silent;
  Observer& listener = observer == nullptr ? silent : *observer;
  const FilesRead files_read;
  CKPT_ASSIGN(Conversion conversion, conversion_of(in, out, options));
  CKPT_TRY(settle_conversion(conversion, listener));
  CKPT_TRY(resolve_target(conversion, true, listener, options.threads));
  CKPT_TRY(check_not_interrupted(listener.cancelled(), "; nothing was written"));
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  for (const std::string& note : planned.notes) listener.note(note);
  const std::unique_ptr<Progress> progress = listener.progress(conversion.out.filename().string());
  ExecuteOptions how;
  how.threads = options.threads;
  how.memory_bytes = options.memory_bytes;
  how.allow_nonfinite = conversion.allow_nonfinite;
  how.force = options.force;
  how.progress = progress.get();
  how.interrupted = listener.cancelled();
  Converted made;
  CKPT_ASSIGN(made.report, execute_planned(planned, conversion, how));
  for (const OutputVerdict& each : planned.verdicts) made.verdicts.push_back(each.verdict);
  return made;
}

Result<ExecuteReport> patch(const fs::path& path, const std::vector<std::string>& steps,
                            Observer* observer, const ReadOptions& reading) {
  Observer silent;
  Observer& listener = observer == nullptr ? silent : *observer;
  const FilesRead files_read;
  PatchRun run;
  run.path = path;
  run.reading = reading;
  CKPT_ASSIGN(run.steps, parse_steps(steps));
  CKPT_TRY(earlier_patch(run));
  CKPT_TRY(finish_earlier(path, listener));
  if (run.steps.empty()) return ExecuteReport();
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(run));
  for (const std::string& note : planned.notes) listener.note(note);
  if (planned.patch.changes_nothing()) return ExecuteReport();
  return execute_patch(run, planned.patch, listener);
}

Result<Diagnosis> doctor(const fs::path& path, const DoctorOptions& options, Observer* observer) {
  Observer silent;
  Observer& listener = observer == nullptr ? silent : *observer;
  const FilesRead files_read;
  DoctorOptions settled = options;
  CKPT_TRY(name_profiles(settled));
  CKPT_ASSIGN(FolderDiagnosis found, diagnose_path(path, settled, listener));
  return std::move(found.diagnosis);
}

}  // namespace ckpt
