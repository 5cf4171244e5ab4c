// "NAME-00002-of-00003.safetensors": one of the files that a model was cut into.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ckpt {

struct NumberedName {
  std::string prefix, ending;
  unsigned number = 0, count = 0;

  std::string of(unsigned i) const;  // the name of file `i`, from 1 on
};

// The name of a .gguf or .safetensors file; the folder does not count.
std::optional<NumberedName> parse_numbered(const std::filesystem::path& path);

}  // namespace ckpt
