// A checkpoint as a grid: what tensors do in their layer × the layer × the type they are stored as.
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

// "model.layers.3.mlp.experts.17.up_proj.weight" is "mlp.experts.up_proj" of layer 3. Scales go
// with what they scale. A tower's layers count from 0 again: their roles begin with its name.
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
  uint64_t compared = 0;  // tensors that `difference` is about
  ValueDifference difference;
};

// Embeddings come first, the head last, other roles in the order in which tensors name them.
struct Cells {
  std::vector<std::string> roles;
  std::vector<std::string> types;           // the largest first
  std::vector<CellSums> of_type;            // as many
  std::vector<Cell> cells;                  // by role, layer and type
  std::map<std::string, size_t> of_tensor;  // index of its cell
  uint64_t layers = 0;                      // of the text model: one more than the highest number
};
// The type of a tensor that is read as its values is the one that it is stored as.
Cells cells_of(const Checkpoint& checkpoint);

}  // namespace ckpt
