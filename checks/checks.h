// The list of checks and of profiles. Other folders include only this header of checks/.
//
//   Checkpoint ── diagnose(profiles) ──▶ verdicts, findings ── fixes() ──▶ steps in order
//
// Most checks need only headers, documents, scales of one number and, if the head is tied, the head
// and the embedding. Deep checks read all tensors.
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
  bool is_released;  // on that day; false: the day when its facts were read
};
std::vector<ProfileInfo> all_profiles();
// The newest release of each program that reads such a checkpoint; the doctor checks for these if
// the user names no program. Ollama converts few folders itself, so it only checks GGUF files.
std::vector<std::string> current_profiles(bool is_gguf);
// Returns "vllm 0.33": the program and release of a profile, or of a release without a profile.
std::string release_label(std::string_view profile);
// Returns the profile of a release. A release between two profiles, or newer than all, keeps its
// name, and its neighbors answer for it. Empty: the release is unknown.
std::string release_named(std::string_view name);
// Whether the profile's program mainly runs GGUF files.
bool is_for_gguf(std::string_view profile);

// A check as `ckpt list checks` and `ckpt help ID` show it.
struct CheckInfo {
  std::string_view id, title;
  std::string_view cause;    // how a checkpoint comes to fail the check
  std::string_view effect;   // the visible effect
  std::string_view step;     // the step that fixes it; may be empty
  std::string advice;        // advice in addition to the step or instead; may be empty
  std::string_view example;  // the place and fault of an example finding
  bool is_deep;
  // Severity per profile, in the order of all_profiles(); nullopt: the check does not apply.
  std::vector<std::optional<Severity>> severities;
};
std::vector<CheckInfo> all_checks();

// Finds texts that llama.cpp splits differently from the tokenizer, or from that of `base`, and
// appends findings to `out`. Fails if the comparison with `base` was impossible.
using TokenizerFindings = std::function<Status(const Checkpoint& checkpoint,
                                               const std::string& base, std::vector<Finding>& out)>;

using Unpacker = std::function<Result<Checkpoint>(const Checkpoint&)>;

struct DiagnosisOptions {
  std::vector<std::string> profiles;  // names; empty: current_profiles()
  bool deep = false;                  // also read tensors
  std::string base;                   // folder of the unquantized model, for fixes that need it
  // Whether a finding may propose this step; null: any step. A step that does not exist yet is only
  // named.
  bool (*has_step)(std::string_view name) = nullptr;
  // Returns the decoded form of packed weights; null: not known.
  PackedForms (*packed_forms)(const Checkpoint& checkpoint) = nullptr;
  // Receives the bytes of tensors that deep checks have read; stops them with kInterrupted.
  Progress* progress = nullptr;
  const std::atomic<bool>* interrupted = nullptr;
  // The files of a checkpoint that is about to be written; empty: it is judged as it was read.
  std::function<Result<std::vector<std::string>>(const Checkpoint&)> files_to_write = {};
  // Finds differences of tokenizers; empty: not known.
  TokenizerFindings tokenizer_findings = {};
  // Makes the GGUF that a conversion of the folder would yield, without its bytes.
  Unpacker run_to_gguf = {};
  // Returns the same tensors, with packed weights decoded to floats when read. Deep checks need it
  // to check values of packed weights.
  Unpacker unpacked = {};
};

// Fails: kUsage: an unknown profile; kIo, kCorrupt: a check cannot read its input; kInterrupted.
Result<Diagnosis> diagnose(const Checkpoint& checkpoint, const DiagnosisOptions& options);
// The diagnosis of an unreadable folder: no profile loads it.
Result<Diagnosis> unreadable(const Error& error, const DiagnosisOptions& options);

// The diagnosis of a folder whose index does not match its files, so that reading failed with
// `error`. `checkpoint` is what programs read that ignore this kind of misfit; for all others the
// result is that of unreadable().
Result<Diagnosis> diagnose_files(const Checkpoint& checkpoint, const FileMisfit& misfit,
                                 const Error& error, const DiagnosisOptions& options);

// The steps that errors and warnings ask for, without duplicates, in the order in which they must
// be applied. Steps that rewrite weights are omitted unless `rewrite_weights` is set.
std::vector<Fix> fixes(const Diagnosis& diagnosis, bool rewrite_weights);

// The kind of answer that llama.cpp gives with a GGUF: texts, embeddings, or the scores of a
// reranker. Source: include/llama.h (llama_pooling_type), tools/server/README.md.
enum class GgufAnswer : uint8_t { kTexts, kEmbeddings, kScores };
GgufAnswer gguf_answer(const Metadata& metadata);

// The shell command that serves `path`, with its projector if a GGUF has one. Both paths are
// already quoted. Empty for programs that do not serve.
std::string serve_command(std::string_view profile, const Checkpoint& checkpoint,
                          const std::string& path, const std::string& projector = {});

}  // namespace ckpt
