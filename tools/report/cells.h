// A checkpoint as a grid of cells by role (tensor's function in its layer), layer and stored type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/value_compare.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// "model.layers.3.mlp.experts.17.up_proj.weight" is "mlp.experts.up_proj" of layer 3. Scales share
// the role of the weights that they scale. Layers of a tower are numbered from 0, so their roles
// begin with its name.
struct TensorPlace {
  std::string role;
  std::optional<uint64_t> layer;  // nullopt: outside layers
};
TensorPlace place_of(std::string_view tensor);

struct CellSums {
  uint64_t tensors = 0, weights = 0, size_bytes = 0;
};

struct Cell {
  size_t role;
  std::optional<uint64_t> layer;
  size_t type;  // index into types
  CellSums sums;
  uint64_t compared = 0;  // number of tensors in `difference`
  ValueDifference difference;
};

// Roles: embeddings first, the head last, others in the order of the tensors.
struct Cells {
  std::vector<std::string> roles;
  std::vector<std::string> types;           // the largest type first
  std::vector<CellSums> of_type;            // parallel to `types`
  std::vector<Cell> cells;                  // sorted by role, layer and type
  std::map<std::string, size_t> of_tensor;  // index of a tensor's cell
  uint64_t layers = 0;                      // of the text model: the highest number + 1
};
// A tensor that is decoded while reading counts with its stored type.
Cells cells_of(const Checkpoint& checkpoint);

}  // namespace ckpt
