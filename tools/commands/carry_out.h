// Executes a planned conversion for a command: shows progress, the results and the next command.
#pragma once

#include <filesystem>

#include "core/engine/execute.h"
#include "plan/conversion/pipeline.h"
#include "tools/say/console.h"

namespace ckpt {

// Prints notes and, for each weight with a merged adapter, how much of the adapter is kept.
void show_findings(const PlannedConversion& planned, const Console& console);

// Prints a written file with its digest.
void show_file(const Console& console, const FileReport& file);

// The caller sets force, allow_nonfinite and the share in `options`; carry_out() sets the rest.
// Returns the exit code: 1 if a program of --for will not load the output or will compute wrong
// results.
Result<int> carry_out(const PlannedConversion& planned, const Conversion& conversion,
                      ExecuteOptions options, const Console& console, const CommonOptions& common);

// Applies --cache-dir and --cache-size as typed. Fails: kUsage if one of them has no effect.
Status set_cache(const PlannedConversion& planned, const std::string& folder,
                 const std::string& size, ExecuteOptions& options);

// Reports files that an earlier run made (--if-needed). Returns the exit code.
int show_made(const PlannedConversion& planned, const std::vector<FileReport>& files,
              const Console& console);

// Prints the verdicts and returns the exit code that follows from them.
int show_verdicts(const PlannedConversion& planned, const Console& console);

// The options that carry_out() would use: digests of plans depend on them.
ExecuteOptions with_common(ExecuteOptions options, const CommonOptions& common);

// Carries out convert --plan-out: plans and writes the file `path`, which must be new or, with
// --force, a plan; "-" is stdout. Fails: as plan_conversion; kUsage; kIo.
Result<int> write_plan(Conversion conversion, const std::filesystem::path& path,
                       const Console& console);

}  // namespace ckpt
