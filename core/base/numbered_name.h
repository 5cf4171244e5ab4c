// Parses "NAME-00002-of-00003.safetensors", the name of one of the files that a model was split
// into. Its words may be in upper or lower case; the names of the other files use the
// same case.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

struct NumberedName {
  std::string prefix, of_word, ending;
  unsigned number = 0, count = 0;

  std::string of(unsigned i) const;  // the name of file `i`, from 1 on
};

// Parses the name of a .gguf, .safetensors or .bin file. Its folders become part of the prefix.
std::optional<NumberedName> parse_numbered(std::string_view path);

}  // namespace ckpt
