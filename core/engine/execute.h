// The engine, which executes a plan. The only code that reads tensor bytes, writes files or starts
// threads.
//
// Output bytes depend only on the plan, never on threads, chunk size, memory limit or the clock.
#pragma once

#include "core/base/result.h"
#include "core/model/plan.h"
#include "core/outputs/execute_options.h"

namespace ckpt {

// Writes every output under "OUT.partial", syncs and renames. After a failure no file has its final
// name; finished work is kept if options.resume is enabled and the same run could succeed later
// (kIo, kInterrupted). Fails: kUsage if OUT exists and force is not set, if OUT is inside an input,
// or if another program works on it or another plan was begun there; kCorrupt for NaN and Inf in
// weights, naming tensor and position; kIo.
Result<ExecuteReport> execute(const Plan& plan, const ExecuteOptions& options);

// Executes share options.resume.share_number of share_count (share.cc). The run that finds all
// shares done completes the plan: digests and final names. Fails: as execute().
Result<ExecuteReport> execute_share(const Plan& plan, const ExecuteOptions& options);

}  // namespace ckpt
