// The shapes and types that packed weights of other programs decode to. The readers of the layouts
// (transforms/packed/) report them to code that inspects a checkpoint without decoding (checks/).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ckpt {

struct PackedForm {
  std::string weight;              // "model.layers.0.mlp.down_proj.weight"
  std::vector<uint64_t> shape;     // of its values
  std::vector<std::string> parts;  // the tensors that it is made of
};

struct PackedForms {
  std::map<std::string, PackedForm> by_codes;  // by the name of the tensor with the codes
  std::set<std::string> parts;                 // all tensors that belong to such a weight
  // If one of these is set, the fields above are empty, and its sentence says why.
  std::string fault;   // the parts do not fit together
  std::string unread;  // ckpt does not decode this layout, which may be sound
};

}  // namespace ckpt
