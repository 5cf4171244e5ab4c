// Checks the structure of a checkpoint: headers, shapes, offsets, index.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tools/say/findings.h"

namespace ckpt {

// Of one checkpoint, or of one of the GGUF and safetensors files in a folder.
struct StructureFinding {
  enum class Verdict : uint8_t { kSound, kBad, kUnsupported };
  std::string path;
  std::string found;
  Verdict verdict = Verdict::kSound;
  std::string hint = {};       // what to try
  std::string uncovered = {};  // a file, with its bytes that belong to no tensor
};

// The checkpoint that `path` is; of a folder also every GGUF and safetensors file in it, at any
// depth, that is none of the checkpoint's. Files that a GGUF was split into are one finding, and so
// is a folder in it that has an index. Empty
// for a folder in which nothing has a structure that ckpt knows. Fails: kUsage, and for a file
// kUnsupported, where `path` is nothing to judge; kIo.
Result<std::vector<StructureFinding>> find_structure(const std::filesystem::path& path);

// The same as findings. `may_be_other`: a path that is not a checkpoint, or not one that ckpt can
// read, gives no error then, but something that was not checked. Fails: as find_structure();
// kUnsupported.
Status check_structure(const std::filesystem::path& path, bool may_be_other, Findings& findings);

}  // namespace ckpt
