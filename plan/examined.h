// The question of `ckpt doctor` and ckpt::doctor, and the checkpoint with its diagnosis.
#pragma once

#include <filesystem>

#include "plan/conversion/fixing.h"
#include "plan/conversion/observer.h"
#include "plan/doctor_options.h"

namespace ckpt {

// Profiles in ckpt's spelling. Fails: kUsage: an unknown profile; as check_base().
Status settle_question(DoctorOptions& options);

enum class OlderReleases : uint8_t { kNotAsked, kCounted };

// Reads and diagnoses `path`, for the current releases if no profile is named; then the verdicts of
// older ones too, if they are counted. Requires: settle_question(). `was_fixed`: files that were
// read before have changed since. Fails: as examine(); kCorrupt where a file changed meanwhile,
// because a verdict would be about neither content.
Result<ExaminedFolder> examined(const std::filesystem::path& path, const DoctorOptions& options,
                                Observer& observer, OlderReleases older = OlderReleases::kNotAsked,
                                bool was_fixed = false);

}  // namespace ckpt
