// The output of `ckpt doctor --imatrix FILE`: whether the statistics are those of the checkpoint.
#pragma once

#include <filesystem>

#include "formats/formats.h"
#include "tools/say/console.h"

namespace ckpt {

// False where a size is another, or no name is of this model: then no conversion can use the file.
// Fails: as reading the checkpoint and fit_imatrix().
Result<bool> show_statistics(const std::filesystem::path& checkpoint, const ImatrixSums& sums,
                             const Console& console);

}  // namespace ckpt
