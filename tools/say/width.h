// Text fitted to the columns of a terminal. One function wraps, for tables, help, findings and
// notes; nothing is cut but the line that progress is drawn on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

// Columns of the terminal that a descriptor is; nullopt: it is not one, or it does not say.
std::optional<size_t> terminal_columns(int descriptor = 1);

// Columns on the screen: two for a wide character, none for a mark above another or for a color.
size_t shown_width(std::string_view text);
// `text`, or as much of it as fits, with "…" at its end.
std::string cut_to(std::string_view text, size_t width);
// `text` in lines of at most `width`, broken between words, each but the first behind `hang`
// spaces. A longer word has a line of its own and is not cut. A command of ckpt is continued as a
// shell reads it, with a backslash.
std::string wrapped(std::string_view text, size_t width, size_t hang = 0);

}  // namespace ckpt
