// The commit of a hub that a published folder was made from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

// `typed`, a --source, at the commit that was read when `files` of `folder` were made: a branch may
// have moved since. As typed, with a warning, where nothing tells that commit. Fails: kUsage if
// another commit was typed than was read, and if several were read.
Result<std::string> source_as_read(const std::string& typed, const std::filesystem::path& folder,
                                   const std::vector<FileDigest>& files, const Console& console);

}  // namespace ckpt
