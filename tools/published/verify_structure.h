// Checks the structure of a checkpoint: headers, shapes, offsets, index.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tools/say/findings.h"

namespace ckpt {

// The verdict on one checkpoint, or on one GGUF or safetensors file in a folder.
struct StructureFinding {
  enum class Verdict : uint8_t { kSound, kBad, kUnsupported };
  std::string path;
  std::string found;
  Verdict verdict = Verdict::kSound;
  std::string hint = {};       // what to try
  std::string uncovered = {};  // a file with bytes that belong to no tensor
};

// Judges the checkpoint `path`, and in a folder also every GGUF and safetensors file, at any depth,
// that is not part of it. The parts of a split GGUF are one finding, and so is an inner folder with
// an index. Empty for a folder in which nothing has a known structure. Fails: kUsage, and for a
// file kUnsupported, if `path` cannot be judged; kIo.
Result<std::vector<StructureFinding>> find_structure(const std::filesystem::path& path);

// Adds the same to `findings`. With `may_be_other`, a path that is not a checkpoint, or not one
// that ckpt can read, counts as not checked instead of failing. Fails: as find_structure();
// kUnsupported.
Status check_structure(const std::filesystem::path& path, bool may_be_other, Findings& findings);

}  // namespace ckpt
