// A plan as a file: what `ckpt convert --plan-out` writes and `ckpt execute` carries out.
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
// The file holds the words of the command, not the plan itself. A plan is made again from the
// headers, which takes no time, and compared by its digest; so a plan file that was tampered with
// can do what a command line can do and nothing else. Paths are absolute; one that was edited to be
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
  std::vector<InputFile> inputs;  // without inodes, which are another machine's business
};

// Reads the text of a plan file; touches no file. Fails: kUsage: no JSON; a key, a step or a kind
// of value that is not known, by its name.
Result<PlanFile> parse_plan_file(std::string_view text, const std::filesystem::path& folder);
std::string render_plan_file(const PlanFile& file, const Plan& plan);

// Every path as it is from anywhere; every step in one list. Fails: as parse_steps.
Result<Conversion> settled(Conversion conversion);
// The file of `plan`, which was made of `conversion`, a settled one. Fails: as digest_of.
Result<PlanFile> plan_file_of(Conversion conversion, const Plan& plan);

// Plans again what the file says. Fails: as plan_conversion; kUsage, saying what has changed, when
// it would be another plan.
Result<PlannedConversion> plan_again(const PlanFile& file, const ExecuteOptions& options);

}  // namespace ckpt
