// The recipes that ModelOpt ships and what they import, by their paths in modelopt_recipes.
#pragma once

#include <span>
#include <string_view>

namespace ckpt {

struct LibraryFile {
  std::string_view path;  // "general/ptq/nvfp4_default-kv_fp8", without ".yaml"
  std::string_view text;  // YAML
};
std::span<const LibraryFile> library_recipes();
std::span<const LibraryFile> library_units();

}  // namespace ckpt
