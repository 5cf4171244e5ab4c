// Words for severities in text output; JSON uses severity_name().
#pragma once

#include <string_view>

#include "core/model/findings.h"
#include "tools/say/console.h"

namespace ckpt {

// Returns "error: will not load", "error: wrong results", "warning" or "info".
std::string_view severity_words(Severity severity);
// Returns short words for table cells: "no load", "wrong", "warning", "info".
std::string_view severity_word(Severity severity);
Tone tone_of(Severity severity);

}  // namespace ckpt
