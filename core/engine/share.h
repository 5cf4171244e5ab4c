// A share of a plan: what one of several programs does of it, each on a machine of its own, on one
// file system.
//
//   all bytes of all files, one after the other:  |--- 1 of 4 ---|--- 2 of 4 ---|--- ...
//   a task belongs to every share that its first run of bytes reaches into
//
// Machines cut tasks by their own threads and memory, so a task at a border may be done twice. It
// writes the same bytes to the same places.
#pragma once

#include <cstdint>

#include "core/chunks/tasks.h"
#include "core/engine/execute.h"

namespace ckpt {

// Leaves the tasks of share `number` of `count` (from 1) and the scans that they need.
void take_share(Jobs& jobs, const Plan& plan, uint32_t number, uint32_t count);

// True when every file of every output lies under its final name: with the size and the header that
// the plan gives it, and not older than `since_ns` (since 1970).
bool is_made(const Plan& plan, int64_t since_ns);

// Does options.resume.share_number of share_count. Whoever finds that all are done makes the rest
// too: digests and final names. Fails: as execute().
Result<ExecuteReport> execute_share(const Plan& plan, const ExecuteOptions& options);

}  // namespace ckpt
