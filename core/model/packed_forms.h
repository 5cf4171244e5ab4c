// The decoded shapes and types of packed weights of other programs. The readers of the layouts
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
  std::vector<uint64_t> shape;     // of the decoded values
  std::vector<std::string> parts;  // the tensors that it consists of
};

struct PackedForms {
  std::map<std::string, PackedForm> by_codes;  // by name of the tensor with the codes
  std::set<std::string> parts;                 // all tensors that belong to such a weight
  // If one of these is set, it states the reason, and the fields above are empty.
  std::string fault;   // the parts do not match
  std::string unread;  // ckpt cannot decode this layout, which may be sound
};

}  // namespace ckpt
