// Runs the diagnosis for `ckpt doctor` and ckpt::doctor.
#pragma once

#include <filesystem>

#include "plan/conversion/fixing.h"
#include "plan/conversion/observer.h"
#include "plan/doctor_options.h"

namespace ckpt {

// Replaces names of profiles by ckpt's spelling. Fails: as profiles_named() and check_base().
Status name_profiles(DoctorOptions& options);

enum class OlderReleases : uint8_t { kNotAsked, kCounted };

// Reads and diagnoses `path` for the profiles in `options`. If they name none, it does so for the
// current releases, and kCounted adds verdicts about older releases. `was_fixed` states that this
// process changed files that it had read. Requires: name_profiles(). Fails: as diagnose_folder();
// kCorrupt: a file changed meanwhile, so that the verdict would fit neither content.
Result<FolderDiagnosis> diagnose_path(const std::filesystem::path& path,
                                      const DoctorOptions& options, Observer& observer,
                                      OlderReleases older = OlderReleases::kNotAsked,
                                      bool was_fixed = false);

}  // namespace ckpt
