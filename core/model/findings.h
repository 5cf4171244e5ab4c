// Results of checking a checkpoint for programs: two verdicts per program, and findings with the
// symptom that a person would see and the fix.
//
//   profile      one release of a program that serves or reads checkpoints: "vllm-0.17"
//   loads        its loader takes the folder whole
//   sound        what it then computes is what the checkpoint means
//
// A folder can load and be unsound (scales that are never read), or be sound and not load (a name
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
  kInfo,      // to know
  kWarning,   // works, but worse than it could
  kUnsound,   // it loads and gives wrong answers
  kUnloaded,  // the loader refuses it
};
std::string_view severity_name(Severity severity);  // "info", "warning", "unsound", "unloaded"

// The fix of a finding.
struct Fix {
  std::string step;    // as typed after --step; empty if no step fixes it
  std::string needs;   // what a person must fill in: "BASE: the unquantized model's folder"
  std::string advice;  // for a person; the only advice where `step` is empty
  bool rewrites_weights = false;
  int order = 0;  // steps are applied from the smallest; set by the list of steps
  bool is_automatic() const { return !step.empty() && needs.empty(); }
};

// How the index of a folder does not fit its files.
struct IndexMisfit {
  std::string found, hint;     // the first misfit, a sentence; empty: it fits
  bool lacks_file = false;     // it names a file that does not exist
  bool omits_tensors = false;  // they have a tensor that it does not name
  bool is_partial = false;     // the model may have tensors that were not read

  Error error() const { return {ErrorCode::kCorrupt, {}, found, hint}; }
};

struct Finding {
  std::string check;    // its id: "T02"
  std::string profile;  // for whom
  Severity severity = Severity::kInfo;
  std::string place;    // file, and what in it: "config.json: text_config"
  std::string found;    // one sentence: the value found and the expected one
  std::string symptom;  // what a user would see; may be empty
  Fix fix;
};

// If both are yes, no check failed; `not_checked` lists checks that did not run.
struct Verdict {
  std::string profile;
  bool loads = true;
  bool sound = true;
  std::string not_checked = {};  // "the weights: ..."; empty: everything was
  std::string note = {};         // on the age of the facts behind the answer; may be empty
};

struct Diagnosis {
  std::vector<Verdict> verdicts;  // in the order in which profiles were asked for
  std::vector<Finding> findings;  // by verdict, then by check
  bool is_good() const;           // no verdict is no
  bool is_checked() const;        // every check ran for every verdict
};

}  // namespace ckpt
