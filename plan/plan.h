// ckpt::plan, for programs: the commands as functions (docs/LIBRARY.md). They print nothing and
// have no global state; several may run at the same time, each in its own thread.
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

// Options in the words of the commands, which docs/RECIPES.md lists.
struct ConvertOptions {
  std::string to = {};                     // "q5_k_m", "nvfp4"; empty: keep existing types
  std::vector<std::string> profiles = {};  // programs that OUT is fixed for: "vllm-0.17"
  std::vector<std::string> steps = {};     // "name:key=value,..."
  // All other options by their names: {"imatrix", "imatrix.gguf"}, {"pure", "yes"}.
  std::vector<std::pair<std::string, std::string>> more = {};
  bool force = false;    // replace OUT, if it holds nothing but a checkpoint
  ReadOptions reading = {};
  unsigned threads = 0;  // 0 = all cores
  uint64_t memory_bytes = uint64_t{512} << 20;
};

struct Converted {
  ExecuteReport report;
  std::vector<Verdict> verdicts;  // of `profiles`
};

// Reads IN, a Hugging Face folder or a file, and writes OUT, a .gguf file or a folder, which
// appears complete or not at all. Fails: as `ckpt convert`; kInterrupted when `observer` cancels.
Result<Converted> convert(const std::filesystem::path& in, const std::filesystem::path& out,
                          const ConvertOptions& options = {}, Observer* observer = nullptr);

// Applies `steps` to a checkpoint in place: changes all files that differ, or none. First finishes
// a patch that was interrupted; without steps, this alone. Fails: as `ckpt patch`.
Result<ExecuteReport> patch(const std::filesystem::path& path,
                            const std::vector<std::string>& steps, Observer* observer = nullptr,
                            const ReadOptions& reading = {});

// Whether programs will load `path` and compute the right results, and the fixes. Fails: as `ckpt
// doctor`; a damaged checkpoint gets verdicts too.
Result<Diagnosis> doctor(const std::filesystem::path& path, const DoctorOptions& options = {},
                         Observer* observer = nullptr);

}  // namespace ckpt
