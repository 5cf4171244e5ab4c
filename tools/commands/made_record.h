// Files that a plan has made, kept next to OUT for --if-needed.
//
//   .NAME.ckpt-made   JSON: the plan's digest, the files that were read (size, times, inode) and
//                     those that were written (the same, and their SHA-256); the request,
//                     what it names, and the notes
//
// OUT is what a plan makes where digest and inputs are those of the record, and each file is as it
// was written: by its times, and where these differ by its hash. A record that others may write to
// is not believed.
#pragma once

#include <optional>
#include <vector>

#include "core/model/plan.h"
#include "core/outputs/execute_options.h"
#include "plan/conversion/pipeline.h"

namespace ckpt {

// The files of `plan`, where all of them are what it makes. Fails: kIo; kInterrupted; kUsage
// where no record could be written afterwards.
Result<std::optional<std::vector<FileReport>>> find_made(const Plan& plan);

// The same before planning: where the same options were given, and every file and folder that they
// name is as it was. Empty where only planning can tell. Fails: as find_made().
Result<std::optional<std::vector<FileReport>>> find_requested(const Conversion& conversion);

// Writes the record after `report`; the request too, if it is `repeatable`. Fails: kIo.
Status record_made(const PlannedConversion& planned, const ExecuteReport& report,
                   const Conversion& conversion, bool repeatable);

}  // namespace ckpt
