// A plan file, which `ckpt convert --plan-out` writes and `ckpt execute` executes.
//
//   {
//     "ckpt_plan": 1,
//     "version": "0.1.0",             of the program that wrote it
//     "digest": "5f3a...",            of the plan (core/resume/plan_digest.h)
//     "convert": {"in": "/models/m", "out": "/models/m.gguf", "to": "q6_k", ...},
//     "inputs": [{"path": ..., "size_bytes": ..., "modified_ns": ...}],
//     "files": [{"path": ..., "size_bytes": ...}]
//   }
//
// The file holds the options of the command, not the plan itself. `ckpt execute` plans again from
// the headers, which takes little time, and compares the digest. A manipulated plan file can
// therefore do only what a command line can do. Paths are absolute; a path that was edited to be
// relative is relative to the plan file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/outputs/execute_options.h"
#include "core/resume/plan_digest.h"
#include "plan/conversion/pipeline.h"

namespace ckpt {

struct PlanFile {
  std::string version, digest;
  Conversion conversion;
  std::vector<InputFile> inputs;  // without inodes, which other machines do not share
};

// Parses the text of a plan file; opens no file. Fails: kUsage: not JSON, or an unknown key, step
// or kind of value, which the error names.
Result<PlanFile> parse_plan_file(std::string_view text, const std::filesystem::path& folder);
// Does the same with the file at `path`. Fails also: kIo.
Result<PlanFile> read_plan_file(const std::filesystem::path& path);
std::string render_plan_file(const PlanFile& file, const Plan& plan);

// Makes every path absolute and puts all steps into one list. Fails: as parse_steps.
Result<Conversion> settled(Conversion conversion);
// The file for `plan`, which was made from `conversion`, a settled one. Fails: as digest_of.
Result<PlanFile> plan_file_of(Conversion conversion, const Plan& plan);

// Plans again from the file. Fails: as plan_conversion; kUsage, naming the change, if the result is
// another plan.
Result<PlannedConversion> plan_again(const PlanFile& file, const ExecuteOptions& options);

}  // namespace ckpt
