// Names of gpt-oss as Unsloth saves it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

// A tensor of one expert of gpt-oss, as Unsloth saves it: a linear layer, whose weight is turned
// relative to the stack. nullopt: of no such layer.
struct LinearExpert {
  std::string stack;  // "model.layers.0.mlp.experts.down_proj_bias"
  uint64_t number;
};
std::optional<LinearExpert> linear_expert(std::string_view name);
// The released name of another tensor of such a model: its router is a linear layer, too.
std::string name_beside_stacks(std::string name);

}  // namespace ckpt
