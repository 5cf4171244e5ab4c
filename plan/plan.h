// ckpt::plan offers the commands as functions to programs (docs/LIBRARY.md). They print nothing and
// have no global state; several may run at the same time in separate threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/model/findings.h"
#include "core/model/format.h"
#include "core/outputs/execute_options.h"
#include "plan/conversion/observer.h"
#include "plan/doctor_options.h"

namespace ckpt {

// The options of the commands under their names in recipes (docs/RECIPES.md).
struct ConvertOptions {
  std::string to = {};                     // "q5_k_m", "nvfp4"; empty: keep existing types
  std::vector<std::string> profiles = {};  // programs that OUT is fixed for: "vllm-0.17"
  std::vector<std::string> steps = {};     // "name:key=value,..."
  // All other options by name: {"imatrix", "imatrix.gguf"}, {"pure", "yes"}.
  std::vector<std::pair<std::string, std::string>> more = {};
  bool force = false;    // replace OUT if it contains only a checkpoint
  ReadOptions reading = {};
  unsigned threads = 0;  // 0 = all cores
  uint64_t memory_bytes = uint64_t{512} << 20;
};

struct Converted {
  ExecuteReport report;
  std::vector<Verdict> verdicts;  // for `profiles`
};

// Reads IN, a Hugging Face folder or a file, and writes OUT, a .gguf file or a folder. OUT never
// appears incomplete. Fails: as `ckpt convert`; kInterrupted if `observer` cancels.
Result<Converted> convert(const std::filesystem::path& in, const std::filesystem::path& out,
                          const ConvertOptions& options = {}, Observer* observer = nullptr);

// Applies `steps` to a checkpoint in place: changes all files that differ, or none. First finishes
// an interrupted patch; without steps, it does only this. Fails: as `ckpt patch`.
Result<ExecuteReport> patch(const std::filesystem::path& path,
                            const std::vector<std::string>& steps, Observer* observer = nullptr,
                            const ReadOptions& reading = {});

// Checks whether programs will load `path` and compute correct results, and finds fixes. A damaged
// checkpoint gets verdicts too. Fails: as `ckpt doctor`.
Result<Diagnosis> doctor(const std::filesystem::path& path, const DoctorOptions& options = {},
                         Observer* observer = nullptr);

}  // namespace ckpt
