// Fits text to the columns of a terminal. Tables, help, findings and notes all wrap by wrapped().
// Only the progress line is cut.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

// The width of the terminal at a descriptor; nullopt if it is not a terminal or the width is
// unknown.
std::optional<size_t> terminal_columns(int descriptor = 1);

// Counts columns on the screen: two for a wide character, none for combining marks and colors.
size_t shown_width(std::string_view text);
// `text`, truncated with "…" at its end if it does not fit.
std::string cut_to(std::string_view text, size_t width);
// Wraps `text` between words into lines of at most `width` columns. Lines after the first are
// indented by `hang`. A word that is longer than a line gets its own line and is not cut. Lines of
// a ckpt command end in a backslash, so that a shell joins them.
std::string wrapped(std::string_view text, size_t width, size_t hang = 0);

}  // namespace ckpt
