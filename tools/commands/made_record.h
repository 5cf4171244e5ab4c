// Files that a plan has made, kept next to OUT for --if-needed.
//
//   .NAME.ckpt-made   JSON: the plan's digest, the files that were read (size, times, inode) and
//                     those that were written (the same, and their SHA-256)
//
// OUT is what a plan makes where digest and inputs are those of the record, and each file is as it
// was written: by its times, and where these differ by its hash. A record that others may write to
// is not believed.
#pragma once

#include <optional>
#include <vector>

#include "core/model/plan.h"
#include "core/outputs/execute_options.h"

namespace ckpt {

// The files of `plan`, where all of them are what it makes. Fails: kIo; kInterrupted; kUsage
// where no record could be written afterwards.
Result<std::optional<std::vector<FileReport>>> find_made(const Plan& plan);

// Writes the record after `report`. Fails: kIo.
Status record_made(const Plan& plan, const ExecuteReport& report);

}  // namespace ckpt
