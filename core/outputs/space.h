// Checks the space for all outputs before the first byte is written: otherwise the first files
// would fill the disk, and disturb its other users, before the last one fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"
#include "core/outputs/place.h"

namespace ckpt {

// The bytes to write to one file system.
struct SpaceNeed {
  std::filesystem::path folder;  // a folder on it that receives outputs
  uint64_t device = 0;
  uint64_t needed_bytes = 0;  // in addition to bytes from earlier runs
  uint64_t free_bytes = 0;    // available to this user

  bool fits() const { return needed_bytes <= free_bytes; }
};

// The needs by file system, in the order of outputs. Temporary files count as written (kKeep,
// kPublish) or as free space (kRemove). Omits file systems that do not report their size.
std::vector<SpaceNeed> space_needs(const Plan& plan, Leftovers leftovers);

// Fails: kIo, naming needed and free space, or a file larger than `ulimit -f` allows.
Status check_space(const Plan& plan, Leftovers leftovers);

}  // namespace ckpt
