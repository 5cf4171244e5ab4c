// Results of checking a checkpoint for a program: two verdicts a program, and findings that say
// what a person would see and what fixes it.
//
//   profile      one release of a program that serves or reads checkpoints: "vllm-0.17"
//   loads        its loader takes the folder whole
//   sound        what it then computes is what the checkpoint means
//
// A folder can load and be unsound (scales that are never read), and be sound and not load (a name
// that the loader does not know).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

// How a finding weighs for one profile.
enum class Severity : uint8_t {
  kInfo,      // to know
  kWarning,   // works, but worse than it could
  kUnsound,   // it loads and gives wrong answers
  kUnloaded,  // the loader refuses it
};
std::string_view severity_name(Severity severity);  // "info", "warning", "unsound", "unloaded"

// The fix of a finding.
struct Fix {
  std::string step;    // as typed after --step; empty where no step can
  std::string needs;   // what a person must fill in: "BASE: the unquantized model's folder"
  std::string advice;  // for a person; the only advice where `step` is empty
  bool rewrites_weights = false;
  int order = 0;  // steps are applied from the smallest; set by the list of steps
  bool is_automatic() const { return !step.empty() && needs.empty(); }
};

struct Finding {
  std::string check;    // its id: "T02"
  std::string profile;  // for whom
  Severity severity = Severity::kInfo;
  std::string place;    // file, and what in it: "config.json: text_config"
  std::string found;    // one sentence: what is there and what was expected
  std::string symptom;  // what a user would see; may be empty
  Fix fix;
};

// Yes twice says that nothing against it was found; `not_checked` lists what was not checked.
struct Verdict {
  std::string profile;
  bool loads = true;
  bool sound = true;
  std::string not_checked = {};  // "the weights: ..."; empty: everything was
};

struct Diagnosis {
  std::vector<Verdict> verdicts;  // in the order in which profiles were asked for
  std::vector<Finding> findings;  // by verdict, then by check
  bool is_good() const;           // no verdict is no
  bool is_checked() const;        // every verdict is of all there is
};

}  // namespace ckpt
