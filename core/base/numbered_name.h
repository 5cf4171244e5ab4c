// "NAME-00002-of-00003.safetensors": one of the files that a model was cut into. Its words may be
// in letters of either case, and the names of the other files are in the same.
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

// Of a .gguf, .safetensors or .bin file; folders before the name are a part of the prefix.
std::optional<NumberedName> parse_numbered(std::string_view path);

}  // namespace ckpt
