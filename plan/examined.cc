#include "plan/examined.h"

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
void take_older(const std::vector<std::string>& asked, ExaminedFolder& out) {
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

Status settle_question(DoctorOptions& options) {
  CKPT_ASSIGN(options.profiles, profiles_named(options.profiles));
  return check_base(options.base);
}

Result<ExaminedFolder> examined(const std::filesystem::path& path, const DoctorOptions& options,
                                Observer& observer, OlderReleases older, bool was_fixed) {
  const std::unique_ptr<Progress> progress = observer.progress("reading");
  CKPT_ASSIGN(const Format* format, recognize(path));
  const bool is_open = options.profiles.empty();
  const std::vector<std::string> asked =
      is_open ? current_profiles(format->name == "gguf") : options.profiles;
  const bool are_counted = is_open && older == OlderReleases::kCounted;
  Examination examination = examination_for(step_context(nullptr, options.reading),
                                            are_counted ? releases_of(asked) : asked);
  examination.deep = options.deep;
  examination.base = options.base;
  examination.progress = progress.get();
  examination.interrupted = observer.cancelled();
  CKPT_ASSIGN(ExaminedFolder out, examine(path, examination, options.reading));
  if (!was_fixed) CKPT_TRY(check_files_read());
  take_older(asked, out);
  return out;
}

}  // namespace ckpt
