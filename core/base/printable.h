// Makes texts from files and command lines safe for a terminal.
//
//   bytes                                       printed as
//   control characters (U+0000..1F, 7F)         \n \r \t, else \x1b
//   invalid UTF-8                               \xff, byte by byte
//   U+0080..9F, marks of direction (U+061C,     \u202e
//   200E, 200F, 202A..202E, 2066..2069), line
//   ends (U+2028, 2029)
//
// Such texts are dangerous: ESC begins commands to the terminal, a carriage return overwrites
// existing text, and bidirectional marks show a name other than the real one.
#pragma once

#include <string>
#include <string_view>

namespace ckpt {

// Returns one line of well-formed UTF-8 that does not move the cursor. Backslashes in `text` stay,
// so that a printable text does not change.
std::string printable(std::string_view text);

// Does the same for a line of JSON without changing its values: characters in strings that JSON
// allows, but printable() would escape, become JSON escapes. Requires: well-formed UTF-8.
std::string printable_json(std::string_view json);

// Returns `text` as one word of a POSIX shell: bare if possible, otherwise in '...', or in bash's
// $'...' if it contains characters that printable() would change.
std::string shell_word(std::string_view text);

// Returns a path as one word of a command line; "./-g" for the file -g, which would be an option.
std::string shell_path(std::string_view path);

}  // namespace ckpt
