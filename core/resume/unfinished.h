// Outputs that a run has begun and not ended. Their files have a final size and may even be whole,
// so they look like checkpoints; the ledger next to them shows that they are not.
#pragma once

#include <filesystem>

#include "core/base/result.h"

namespace ckpt {

// Fails with kUsage when `path` is under construction, is in a folder that is, or is a folder
// that an output is being put into: with the command that began it and how far it has come, where
// its ledger says so. Fails also: kIo.
Status refuse_unfinished_output(const std::filesystem::path& path);

}  // namespace ckpt
