// Severities in words that people know; JSON has those of severity_name().
#pragma once

#include <string_view>

#include "core/model/findings.h"
#include "tools/say/console.h"

namespace ckpt {

// "error: will not load", "error: wrong results", "warning", "info".
std::string_view severity_words(Severity severity);
// The same in a cell of a table: "no load", "wrong", "warning", "info".
std::string_view severity_word(Severity severity);
Tone tone_of(Severity severity);

}  // namespace ckpt
