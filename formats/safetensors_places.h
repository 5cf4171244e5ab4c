// Files that are edited where they stand: their tensors keep places, order and written shapes.
//
//   old  n | {"a":..., "b":...}      | bytes of a | bytes of b
//   new  n | {"x":..., "b":...} pad  | bytes of a | bytes of b      nothing moves
//
// Upstream writers sort entries by dtype and name, but every reader takes any order of the bytes
// (safetensors/src/tensor.rs `validate`), so a new name moves nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace ckpt {

// One entry of a header that is being laid out.
struct LaidEntry {
  uint32_t tensor, part;
  Dtype dtype;
  std::string name;
  std::vector<uint64_t> shape;
  uint64_t size_bytes;
};
struct LaidFile {
  std::string path;
  std::vector<LaidEntry> entries;
};

// Parts of a tensor that came from another file than its first part go back into that file.
void return_parts(const Checkpoint& checkpoint, std::vector<LaidFile>& files);

// Gives the entries the shapes that their file wrote them with, and, when they are all that one
// file holds, its order. Gives the bytes that the JSON of that file's header has room for; nullopt
// when the file must be rewritten.
Result<std::optional<uint64_t>> keep_places(const Checkpoint& checkpoint,
                                            std::vector<LaidEntry>& entries);

}  // namespace ckpt
