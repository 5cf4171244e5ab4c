// ckpt verify FILE: a lone file, or one of the numbered files that a model was cut into.
#pragma once

#include <filesystem>

#include "tools/say/findings.h"

namespace ckpt {

// Structure of `path` and of every file that belongs to it, and their lines in the SHA256SUMS that
// is next to them. NAME-00001-of-00003.gguf stands for its three files,
// NAME-00002-of-00003.safetensors for its three and NAME.safetensors.index.json where it is there.
// Fails: kUsage; kUnsupported; kIo; kInterrupted.
Status check_file(const std::filesystem::path& path, const Console& console,
                  const CommonOptions& common, Findings& findings);

}  // namespace ckpt
