// A plan: checkpoints with their layouts. execute(plan) executes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/format.h"

namespace ckpt {

struct Output {
  std::filesystem::path path;  // OUT: a folder, or the file that files[0] becomes
  Checkpoint checkpoint;
  Layout layout;
  // OUT is an existing empty folder, perhaps a mount point: it stays, and the layout's files are
  // put into it.
  bool goes_into = false;
  // Files in the folder at `path` that this output replaces; nothing else in it is removed.
  std::vector<std::string> replaced = {};
};

// Several outputs are made in one pass over the sources.
struct Plan {
  std::vector<Output> outputs;
};

// Detects errors that only a bug of ckpt or a hostile layout can cause: extents that overlap,
// exceed the file or disagree with the part rules, paths that leave the output folder, duplicate
// names, a Recoded tensor whose source is not Stored. Later code does not check again.
Status check(const Plan& plan);

// The final path of an output's file. Requires: check() passed.
std::filesystem::path final_path(const Output& output, const OutputFile& file);

}  // namespace ckpt
