#include "plan/diagnosed.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "core/io/files_read.h"
#include "formats/formats.h"
#include "plan/conversion/steps.h"
#include "plan/text/type_names.h"

namespace ckpt {

namespace {

// Lists all releases of the programs that `profiles` belong to.
std::vector<std::string> releases_of(const std::vector<std::string>& profiles) {
  std::set<std::string_view> programs;
  std::vector<std::string> out;
  for (const ProfileInfo& each : all_profiles()) {
    if (std::ranges::count(profiles, each.name) != 0) programs.insert(each.program);
  }
  for (const ProfileInfo& each : all_profiles()) {
    if (programs.contains(each.program)) out.emplace_back(each.name);
  }
  return out;
}

// Moves verdicts about profiles that are not in `asked` to out.older, and drops their findings.
void take_older(const std::vector<std::string>& asked, FolderDiagnosis& out) {
  const auto is_asked = [&](const auto& each) {
    return std::ranges::count(asked, each.profile) != 0;
  };
  for (const Verdict& verdict : out.diagnosis.verdicts) {
    if (!is_asked(verdict)) out.older.push_back(verdict);
  }
  std::erase_if(out.diagnosis.verdicts, std::not_fn(is_asked));
  std::erase_if(out.diagnosis.findings, std::not_fn(is_asked));
}

}  // namespace

Status name_profiles(DoctorOptions& options) {
  CKPT_ASSIGN(options.profiles, profiles_named(options.profiles));
  return check_base(options.base);
}

Result<FolderDiagnosis> diagnose_path(const std::filesystem::path& path,
                                      const DoctorOptions& options, Observer& observer,
                                      OlderReleases older, bool was_fixed) {
  const std::unique_ptr<Progress> progress = observer.progress("reading");
  CKPT_ASSIGN(const Format* format, recognize(path));
  const bool is_open = options.profiles.empty();
  const std::vector<std::string> asked =
      is_open ? current_profiles(format->name == "gguf") : options.profiles;
  const bool are_counted = is_open && older == OlderReleases::kCounted;
  DiagnosisOptions diagnosis_options = diagnosis_options_for(
      step_context(nullptr, options.reading), are_counted ? releases_of(asked) : asked);
  diagnosis_options.deep = options.deep;
  diagnosis_options.base = options.base;
  diagnosis_options.progress = progress.get();
  diagnosis_options.interrupted = observer.cancelled();
  CKPT_ASSIGN(FolderDiagnosis out, diagnose_folder(path, diagnosis_options, options.reading));
  if (!was_fixed) CKPT_TRY(check_files_read());
  take_older(asked, out);
  return out;
}

}  // namespace ckpt
