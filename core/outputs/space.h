// Checks the space for all outputs before the first byte is written: otherwise the first files
// would fill the disk, and disturb everybody who uses it, before the last one fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"
#include "core/outputs/place.h"

namespace ckpt {

// Bytes written to one file system.
struct SpaceNeed {
  std::filesystem::path folder;  // on it, that outputs go into
  uint64_t device = 0;
  uint64_t needed_bytes = 0;  // in addition to bytes of earlier runs
  uint64_t free_bytes = 0;    // for this user

  bool fits() const { return needed_bytes <= free_bytes; }
};

// By file system, in the order of outputs. Temporary files count as written (kKeep, kPublish) or as
// about to be removed (kRemove). Omits file systems that do not report their size.
std::vector<SpaceNeed> space_needs(const Plan& plan, Leftovers leftovers);

// Fails: kIo, naming needed and free space, or a file that is larger than `ulimit -f` allows.
Status check_space(const Plan& plan, Leftovers leftovers);

}  // namespace ckpt
