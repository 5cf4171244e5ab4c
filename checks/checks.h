// The list of checks and of profiles: the only header of this folder that others include.
//
//   Checkpoint ── diagnose(profiles) ──▶ verdicts, findings ── fixes() ──▶ steps in their order
//
// Headers, documents, scales of one number and a head that is tied to the embedding are enough for
// all checks but the deep ones, which read tensors.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/findings.h"
#include "core/model/packed_forms.h"
#include "core/outputs/progress.h"

namespace ckpt {

// One release of a program that serves or reads checkpoints.
struct ProfileInfo {
  std::string_view name;  // "vllm-0.17"
  std::string_view help;  // "vLLM 0.17 with transformers 4.57"
  std::string_view program, version, date;
  bool is_released;  // on that day; else its facts were read then
};
std::vector<ProfileInfo> all_profiles();
// The newest release of each program that reads such a checkpoint. The doctor checks for these if
// no program is named. Ollama converts few folders itself, so it is checked for GGUF files only.
std::vector<std::string> current_profiles(bool is_gguf);
// "vllm 0.33": the program and the release of a profile, or of a release without its own profile.
std::string release_label(std::string_view profile);
// The name of the profile of a release, or that of a release for which others answer: between two
// of them, or newer. Empty: not known.
std::string release_named(std::string_view name);
// Whether the profile's program runs GGUF files before all.
bool is_for_gguf(std::string_view profile);

// A check as `ckpt list checks` and `ckpt help ID` show it.
struct CheckInfo {
  std::string_view id, title;
  std::string_view cause;    // how a checkpoint comes to fail it
  std::string_view effect;   // what people see
  std::string_view step;     // the step that fixes it; may be empty
  std::string advice;        // what a person does in addition to the step or instead; may be empty
  std::string_view example;  // a finding: the place and the fault
  bool is_deep;
  // Severity for each profile, in the order of all_profiles(); nullopt: not asked there.
  std::vector<std::optional<Severity>> severities;
};
std::vector<CheckInfo> all_checks();

// Texts that llama.cpp splits differently from the tokenizer, or from that of `base`; appended to
// `out`. Fails if `base` was not compared.
using TokenizerFindings = std::function<Status(const Checkpoint& checkpoint,
                                               const std::string& base, std::vector<Finding>& out)>;

using Unpacker = std::function<Result<Checkpoint>(const Checkpoint&)>;

struct DiagnosisOptions {
  std::vector<std::string> profiles;  // names; empty: current_profiles()
  bool deep = false;                  // read tensors too
  std::string base;                   // the unquantized model's folder, for fixes that need it
  // Whether a finding may be fixed by this step; null: by any. A step that is not there yet is
  // only named.
  bool (*has_step)(std::string_view name) = nullptr;
  // The decoded form of packed weights; null: not known.
  PackedForms (*packed_forms)(const Checkpoint& checkpoint) = nullptr;
  // Of deep checks: told how many bytes of tensors have been read; stops them with kInterrupted.
  Progress* progress = nullptr;
  const std::atomic<bool>* interrupted = nullptr;
  // Empty: not known.
  TokenizerFindings tokenizer_findings = {};
  // The GGUF that a conversion makes of a folder, without its bytes.
  Unpacker run_to_gguf = {};
  // The same tensors, packed weights as floats that are decoded when they are read; deep checks of
  // their values need it.
  Unpacker unpacked = {};
};

// Fails: kUsage: a profile that is not known; kIo, kCorrupt where checks cannot read; kInterrupted.
Result<Diagnosis> diagnose(const Checkpoint& checkpoint, const DiagnosisOptions& options);
// The diagnosis of a folder that cannot be read at all: no for every profile.
Result<Diagnosis> unreadable(const Error& error, const DiagnosisOptions& options);

// The same of a folder whose index does not fit its files, for which reading failed with `error`:
// `checkpoint` is what programs have of it that do not mind how it does not fit, and for others the
// answer is that of unreadable().
Result<Diagnosis> diagnose_files(const Checkpoint& checkpoint, const IndexMisfit& misfit,
                                 const Error& error, const DiagnosisOptions& options);

// The steps that the findings of errors and warnings ask for: each once, in the order in which they
// must be applied. Those that rewrite weights are left out unless `rewrite_weights`.
std::vector<Fix> fixes(const Diagnosis& diagnosis, bool rewrite_weights);

// The shell command that serves `path` there, of a GGUF with its projector if it has one, both as
// words of a shell; empty for programs that do not serve.
std::string serve_command(std::string_view profile, const Checkpoint& checkpoint,
                          const std::string& path, const std::string& projector = {});

}  // namespace ckpt
