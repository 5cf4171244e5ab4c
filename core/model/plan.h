// A plan: checkpoints with their layouts. execute(plan) makes it true; nothing flows back.
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
  // OUT is a folder that is there and empty, perhaps a mount point: it stays, and the files of the
  // layout, a folder's, are put into it.
  bool goes_into = false;
  // Files of the folder at `path` that this output replaces; nothing else of it is removed.
  std::vector<std::string> replaced = {};
};

// Several outputs are made from one reading of the source.
struct Plan {
  std::vector<Output> outputs;
};

// Looks for what only our own bugs or a hostile layout can cause: extents that overlap, pass the
// end or disagree with the part rules, paths that leave the output folder, names that come twice,
// a Recoded tensor whose source is not Stored. After this nothing checks again.
Status check(const Plan& plan);

// Where a file of an output ends up. Requires: check() passed.
std::filesystem::path final_path(const Output& output, const OutputFile& file);

}  // namespace ckpt
