// Carries a planned conversion out, as a command does: progress, what was made, what to do next.
#pragma once

#include <filesystem>

#include "core/engine/execute.h"
#include "plan/conversion/pipeline.h"
#include "tools/say/console.h"

namespace ckpt {

// Prints notes, and of each weight that an adapter was merged into how much of it is kept.
void show_findings(const PlannedConversion& planned, const Console& console);

// A file that was written, with its digest.
void show_file(const Console& console, const FileReport& file);

// `options`: force, allow_nonfinite and the share; the rest is filled in here. Gives the exit code.
// 1 where a program that --for names will not load what was made, or not compute what it means.
Result<int> carry_out(const PlannedConversion& planned, const Conversion& conversion,
                      ExecuteOptions options, const Console& console, const CommonOptions& common);

// --cache-dir and --cache-size, as typed. Fails: kUsage where one has no use.
Status set_cache(const PlannedConversion& planned, const std::string& folder,
                 const std::string& size, ExecuteOptions& options);

// Reports files that are there already (--if-needed). Gives the exit code.
int show_made(const PlannedConversion& planned, const std::vector<FileReport>& files,
              const Console& console);

// Says the verdicts; gives the exit code of those.
int show_verdicts(const PlannedConversion& planned, const Console& console);

// The options that carry_out() would use: digests of plans depend on them.
ExecuteOptions with_common(ExecuteOptions options, const CommonOptions& common);

// convert --plan-out: plans and writes `path`, which is new, or with --force a plan; "-" is stdout.
// Fails: as plan_conversion; kUsage; kIo.
Result<int> write_plan(Conversion conversion, const std::filesystem::path& path,
                       const Console& console);

}  // namespace ckpt
