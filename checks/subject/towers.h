// Towers of vision models whose tables are in addition to those of models/,
// and what Qwen3-VL's has beyond Qwen3.5's; private to checks/.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "models/models.h"

namespace ckpt {

// The part of a wrapper's model that reads images, and its projector. Fields of its shapes are
// those of vision_config; "text.hidden_size" is the text part's, "wrapper.X" is next to both.
//   kind     that the quirk "tower:KIND" of the wrapper names
//   layers   before the number of a layer: "vision_tower.transformer.layers"
//   depth    the field that counts them
//   heads    the field that counts heads of its attention
// A rule whose name has {} is there once for each entry of deepstack_visual_indexes, with a list in
// braces once for each of its words; `when` is a field that must be true.
struct TowerTable {
  std::string_view kind, layers, depth, heads;
  std::span<const std::span<const ParameterRule>> lists;
  std::span<const ClassDefault> defaults;
};
// nullptr where there is none.
const TowerTable* tower_of(std::string_view wrapper_type);

// Names of towers and projectors begin with these.
inline constexpr std::string_view kTowerRoots[] = {"model.visual.", "vision_tower.",
                                                   "vision_model.", "multi_modal_projector."};

// `hidden` is the text part's hidden_size. Fails as expected_parameters() does.
Result<std::vector<Parameter>> expected_tower(const TowerTable& tower, const JsonValue& wrapper,
                                              uint64_t hidden);

}  // namespace ckpt
