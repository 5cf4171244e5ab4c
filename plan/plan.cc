#include "plan/plan.h"

#include <memory>

#include "core/base/threads.h"
#include "core/engine/execute.h"
#include "core/io/files_read.h"
#include "core/io/remembered.h"
#include "formats/formats.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/fixing.h"
#include "plan/conversion/option_table.h"
#include "plan/conversion/patching.h"
#include "plan/conversion/pipeline.h"
#include "plan/size_target/folder_target.h"
#include "plan/size_target/size_target.h"
#include "plan/text/type_names.h"
#include "transforms/transforms.h"

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
  if (!made.to.empty()) made.given.push_back({"to", made.to, false});
  for (const auto& [name, value] : options.more) {
    const ConvertOption* option = find_kept_option(name, OptionKept::kRecipe);
    if (option == nullptr) {
      return misuse_hint("one of docs/RECIPES.md", "option '{}' is not known", name);
    }
    made.given.push_back({std::string(option->name), value, false});
    CKPT_TRY(set_option(made, *option, value, ""));
  }
  CKPT_TRY(settle_names(made));
  return made;
}

// Types for a size that was asked for.
Result<Conversion> with_target(Conversion conversion, unsigned threads, Observer& observer) {
  CKPT_ASSIGN(const auto target, read_size_target(conversion));
  if (!target) return conversion;
  const auto choose = is_gguf_path(conversion.out) ? with_chosen_types : with_chosen_layers;
  CKPT_ASSIGN(auto chosen, choose(conversion, *target, observer, threads));
  std::erase_if(chosen.first.given, [](const auto& each) { return each.name == "sensitivity"; });
  return std::move(chosen.first);
}

}  // namespace

Result<Converted> convert(const fs::path& in, const fs::path& out, const ConvertOptions& options,
                          Observer* observer) {
  Observer silent;
  Observer& told = observer == nullptr ? silent : *observer;
  const FilesRead files_read;
  CKPT_ASSIGN(Conversion conversion, conversion_of(in, out, options));
  CKPT_TRY(settle_moments(conversion, told));
  CKPT_ASSIGN(conversion, with_target(std::move(conversion), options.threads, told));
  CKPT_TRY(check_not_interrupted(told.cancelled(), "; nothing was written"));
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  for (const std::string& note : planned.notes) told.note(note);
  const std::unique_ptr<Progress> progress = told.progress(out.filename().string());
  ExecuteOptions how;
  how.threads = options.threads;
  how.memory_bytes = options.memory_bytes;
  how.allow_nonfinite = conversion.allow_nonfinite;
  how.force = options.force;
  how.progress = progress.get();
  how.interrupted = told.cancelled();
  Converted made;
  CKPT_ASSIGN(made.report, execute(planned.plan, how));
  for (const FileReport& file : made.report.files) {
    remember_sources(file.path, file.sha256, planned.hub_inputs);
  }
  for (const OutputVerdict& each : planned.verdicts) made.verdicts.push_back(each.verdict);
  return made;
}

Result<ExecuteReport> patch(const fs::path& path, const std::vector<std::string>& steps,
                            Observer* observer, const ReadOptions& reading) {
  Observer silent;
  Observer& told = observer == nullptr ? silent : *observer;
  const FilesRead files_read;
  CKPT_TRY(finish_earlier_patch(path));
  Patching patching;
  patching.path = path;
  patching.reading = reading;
  CKPT_ASSIGN(patching.steps, parse_steps(steps));
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(patching));
  for (const std::string& note : planned.notes) told.note(note);
  if (planned.patch.changes_nothing()) return ExecuteReport();
  PatchOptions how;
  how.execute.interrupted = told.cancelled();
  return apply_patch(planned.patch, how);
}

Result<Diagnosis> doctor(const fs::path& path, const DoctorOptions& options, Observer* observer) {
  Observer silent;
  Observer& told = observer == nullptr ? silent : *observer;
  const FilesRead files_read;
  const std::unique_ptr<Progress> progress = told.progress("reading");
  CKPT_ASSIGN(const std::vector<std::string> profiles, profiles_named(options.profiles));
  CKPT_TRY(check_base(options.base));
  const Context context = step_context(nullptr, options.reading);
  const Examination examination{
      profiles,     options.deep,   options.base,     is_given_step,
      packed_forms, progress.get(), told.cancelled(), tokenizer_findings(context),
      unpacker(context)};
  CKPT_ASSIGN(ExaminedFolder examined, examine(path, examination, options.reading));
  CKPT_TRY(check_files_read());
  return std::move(examined.diagnosis);
}

}  // namespace ckpt
