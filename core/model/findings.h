// The results of checking a checkpoint for programs: two verdicts per program, and findings with
// the visible symptom and the fix.
//
//   profile      one release of a program that serves or reads checkpoints: "vllm-0.17"
//   loads        its loader accepts the entire folder
//   sound        it computes the results that the checkpoint implies
//
// A folder can load and be unsound (scales that are never read), or be sound but not load (a name
// that the loader does not know).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

// The severity of a finding for one profile.
enum class Severity : uint8_t {
  kInfo,      // for information
  kWarning,   // works, but not as well as it could
  kUnsound,   // loads, but gives wrong answers
  kUnloaded,  // the loader rejects it
};
std::string_view severity_name(Severity severity);  // "info", "warning", "unsound", "unloaded"

// The fix of a finding.
struct Fix {
  std::string step;    // value of --step; empty if no step fixes it
  std::string needs;   // what the user must supply: "BASE: the unquantized model's folder"
  std::string advice;  // for a person; the only fix if `step` is empty
  bool rewrites_weights = false;
  int order = 0;  // steps are applied in this order, set by the list of steps
  bool is_automatic() const { return !step.empty() && needs.empty(); }
};

// How the index of a folder does not match its files, or which key of a GGUF comes twice; and
// which files are passed over.
struct FileMisfit {
  std::string found, hint;     // a sentence; empty: none
  bool lacks_file = false;     // the index names a file that does not exist
  bool lacks_tensors = false;  // and no other file has its tensors
  bool omits_tensors = false;  // the files have a tensor that the index lacks
  bool has_more = false;       // a file that is passed over has tensors that no other has
  bool has_conflict = false;   // programs would read different values
  bool has_key_twice = false;  // of a GGUF; the first value was read, and its readers refuse it
  bool is_fault = false;       // any but files that are passed over

  Error error() const { return {ErrorCode::kCorrupt, {}, found, hint}; }
};

struct Finding {
  std::string check;    // id of the check: "T02"
  std::string profile;  // that the finding applies to
  Severity severity = Severity::kInfo;
  std::string place;    // the file and the place in it: "config.json: text_config"
  std::string found;    // one sentence: the value found and the expected one
  std::string symptom;  // visible symptom; may be empty
  Fix fix;
};

// If both values are true, no check failed. `not_checked` lists checks that did not run.
struct Verdict {
  std::string profile;
  bool loads = true;
  bool sound = true;
  std::string not_checked = {};  // "the weights: ..."; empty if everything was checked
  std::string note = {};         // the age of the facts used; may be empty
};

struct Diagnosis {
  std::vector<Verdict> verdicts;  // in the requested order of profiles
  std::vector<Finding> findings;  // by verdict, then by check
  bool is_good() const;           // no verdict is negative
  bool is_checked() const;        // every check ran for every verdict
};

}  // namespace ckpt
