// `ckpt complete WORD...`, which the scripts of `ckpt completion` ask. It is not a command on its
// own: its words are those of a line that is still being typed, so nothing parses them.
#pragma once

#include <span>
#include <string>

namespace ckpt {

inline constexpr std::string_view kCompleteWord = "complete";

// `words`: what is typed behind "ckpt", the last of them unfinished and perhaps empty. Gives the
// whole words that may replace it, one a line, each with a tab and what it means; nothing
// where a file may stand.
std::string completions(std::span<const std::string> words);

}  // namespace ckpt
