// Pieces of bytes of one file.
#pragma once

#include <filesystem>

#include "core/base/result.h"

namespace ckpt {

// Fails for a file that another program cut into pieces of bytes, which `cat` joins:
// "m.gguf.part1of2", "m.gguf-split-a", "m.gguf.00001-of-00002", "m.gguf.aa". Fails also: kIo.
Status refuse_piece(const std::filesystem::path& path);

}  // namespace ckpt
