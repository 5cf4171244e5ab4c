// The output of `ckpt doctor --moments FILE`: whether second moments (docs/SEARCH.md) are of
// the layers of a folder.
#pragma once

#include <filesystem>

#include "tools/say/console.h"

namespace ckpt {

// False where a size is another, or no name is of this model: then no conversion can use the file.
// From headers alone. Fails: kUsage: `path` is a GGUF, or the file holds no moments; as reading
// both.
Result<bool> show_moments(const std::filesystem::path& path, const std::filesystem::path& moments,
                          const Console& console);

}  // namespace ckpt
