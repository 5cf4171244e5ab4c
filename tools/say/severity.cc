#include "tools/say/severity.h"

namespace ckpt {

std::string_view severity_words(Severity severity) {
  if (severity == Severity::kUnloaded) return "error: will not load";
  if (severity == Severity::kUnsound) return "error: wrong results";
  return severity_name(severity);
}

std::string_view severity_word(Severity severity) {
  if (severity == Severity::kUnloaded) return "no load";
  if (severity == Severity::kUnsound) return "wrong";
  return severity_name(severity);
}

Tone tone_of(Severity severity) {
  if (severity >= Severity::kUnsound) return Tone::kBad;
  return severity == Severity::kWarning ? Tone::kWarning : Tone::kPlain;
}

}  // namespace ckpt
