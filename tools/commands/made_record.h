// Records which files a plan made, in a file next to OUT, for --if-needed.
//
//   .NAME.ckpt-made   JSON: the plan's digest; the files that were read (size, times, inode); the
//                     files that were written (the same and SHA-256); the request, the files
//                     that it names, and the notes
//
// OUT is up to date if the digest and the inputs match the record and no output has changed. An
// output has not changed if its times match, or else its hash. A record that other users may write
// to is ignored.
#pragma once

#include <optional>
#include <vector>

#include "core/model/plan.h"
#include "core/outputs/execute_options.h"
#include "plan/conversion/pipeline.h"

namespace ckpt {

// The files of `plan` if all of them exist and are up to date. Fails: kIo; kInterrupted; kUsage if
// no record could be written afterwards.
Result<std::optional<std::vector<FileReport>>> find_made(const Plan& plan);

// Does the same without a plan, which is faster. It finds the files if the options are the same and
// no file or folder that they name has changed. nullopt: only a plan can tell. Fails: as
// find_made().
Result<std::optional<std::vector<FileReport>>> find_requested(const Conversion& conversion);

// Writes the record of an executed plan. find_requested() can use it only if `repeatable` is true.
// Fails: kIo.
Status record_made(const PlannedConversion& planned, const ExecuteReport& report,
                   const Conversion& conversion, bool repeatable);

}  // namespace ckpt
