// What a checkpoint says of itself: headers, shapes, offsets, index.
#pragma once

#include <filesystem>

#include "tools/findings.h"

namespace ckpt {

// One finding on the structure of `path`. `may_be_other`: what is no checkpoint at all is no error
// then, but something that was not checked. Fails: kUsage and kUnsupported for what no format
// takes; kIo.
Status check_structure(const std::filesystem::path& path, bool may_be_other, Findings& findings);

}  // namespace ckpt
