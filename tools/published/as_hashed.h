// Whether a folder is still what its sums say, while other programs may change it.
//
// A patch and a publication have no common lock: each looks for the other once it shows itself.
//
//   publish   write sums     ▸ is a patch at work, or a file not as it was hashed? then no sums
//   patch     lock staging   ▸ have sums appeared since the patch was planned? then no patch
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "core/base/result.h"
#include "core/io/files_read.h"

namespace ckpt {

// Fails: kUsage if a patch of the folder, or of a file or folder in it, is at work or was
// interrupted; kIo.
Status refuse_patches(const std::filesystem::path& folder);

// Requires that the files of the folder are those in `states` by name, as they were, and those in
// `made`. Fails: as refuse_patches() and check_unchanged(); kIo for a file that appeared.
Status check_as_hashed(const std::filesystem::path& folder,
                       const std::map<std::string, FileState>& states,
                       const std::set<std::string>& made);

}  // namespace ckpt
