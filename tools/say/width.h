// Text fitted to the columns of a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

// Columns of the terminal that a descriptor is; nullopt: it is not one, or it does not say.
std::optional<size_t> terminal_columns(int descriptor = 1);

// Characters on the screen, which UTF-8 continuation bytes are not.
size_t shown_width(std::string_view text);
// `text`, or as much of it as fits, with "…" at its end.
std::string cut_to(std::string_view text, size_t width);
// `text` in lines of at most `width`, broken between words, each but the first behind `indent`,
// which does not count. A word that is longer has a line of its own.
std::string wrapped(std::string_view text, size_t width, std::string_view indent = {});

}  // namespace ckpt
