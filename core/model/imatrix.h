// An importance matrix: mean squared activations, one value a column, by tensor name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ckpt {

struct Imatrix {
  // By GGUF tensor name; row_values x matrices numbers, matrix after matrix (spec:
  // docs/formats/imatrix.md).
  std::map<std::string, std::vector<float>, std::less<>> weights;
  std::string file;  // as given on the command line
  std::vector<std::string> datasets;
  uint64_t chunk_count = 0;
};

}  // namespace ckpt
