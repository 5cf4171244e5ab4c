// How a weight's name says its module: "model.layers.0.mlp.up_proj.weight".
#pragma once

#include <string_view>

namespace ckpt {

inline constexpr std::string_view kWeight = ".weight";

}  // namespace ckpt
