// Room for outputs, asked for over all of them before one byte is written: else the first files
// would take the disk, and everybody's work with it, before the last one finds it full.
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

// By file system, in the order of outputs. What stands under temporary names counts as made
// (kKeep, kPublish), or as about to be removed (kRemove). File systems that do not say how large
// they are are left out.
std::vector<SpaceNeed> space_needs(const Plan& plan, Leftovers leftovers);

// Fails: kIo, naming what is needed and what is free; or a file that is larger than any may be here
// (ulimit -f).
Status check_space(const Plan& plan, Leftovers leftovers);

}  // namespace ckpt
