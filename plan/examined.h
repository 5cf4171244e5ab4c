// The question of `ckpt doctor` and ckpt::doctor, and the checkpoint with its diagnosis.
#pragma once

#include <filesystem>

#include "plan/conversion/fixing.h"
#include "plan/conversion/observer.h"
#include "plan/doctor_options.h"

namespace ckpt {

// Profiles in ckpt's spelling; without any, of a GGUF llama.cpp. Fails: kUsage: an unknown profile;
// as check_base().
Status settle_question(const std::filesystem::path& path, DoctorOptions& options);

// Reads and diagnoses `path`. Requires: settle_question(). `was_fixed`: files that were read before
// have changed since. Fails: as examine(); kCorrupt where a file changed meanwhile, because a
// verdict would be about neither content.
Result<ExaminedFolder> examined(const std::filesystem::path& path, const DoctorOptions& options,
                                Observer& observer, bool was_fixed = false);

}  // namespace ckpt
