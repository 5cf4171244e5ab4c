// Detects outputs that a run began and did not complete. Their files have their final size and may
// even be complete, so they look like checkpoints; the ledger next to them shows that they are not.
#pragma once

#include <filesystem>

#include "core/base/result.h"

namespace ckpt {

// Fails: kUsage if `path` is unfinished, is in an unfinished folder, or is a folder that receives
// an output; the message has the command that began it and its progress if the ledger contains
// them. Fails also: kIo.
Status refuse_unfinished_output(const std::filesystem::path& path);

}  // namespace ckpt
