#include "core/model/findings.h"

#include <algorithm>

namespace ckpt {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kUnsound: return "unsound";
    case Severity::kUnloaded: return "unloaded";
  }
  return "";
}

bool Diagnosis::is_good() const {
  return std::ranges::all_of(verdicts,
                             [](const Verdict& verdict) { return verdict.loads && verdict.sound; });
}

bool Diagnosis::is_checked() const {
  return std::ranges::all_of(verdicts,
                             [](const Verdict& verdict) { return verdict.not_checked.empty(); });
}

}  // namespace ckpt
