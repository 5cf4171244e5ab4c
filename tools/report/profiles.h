// The doctor's verdicts in a report: one a program, with the command that makes it a yes.
#pragma once

#include <filesystem>
#include <string>

#include "core/model/checkpoint.h"
#include "tools/say/console.h"

namespace ckpt {

// null where there is nothing to say.
Json text_or_null(std::string text);

// [{"name", "loads", "sound", "findings", "fix", "serve"}], from headers and documents alone.
Result<Json> report_profiles(const std::filesystem::path& path, const Checkpoint& checkpoint,
                             const Console& console);

}  // namespace ckpt
