// MiniMax M3: CLIP's tower with frames in twos and a rotation along three axes, and two MLPs.
//
// Source: llama.cpp conversion/minimax.py MiniMaxM3VisionModel; defaults: transformers
// models/minimax_m3_vl/configuration_minimax_m3_vl.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kMiniMaxKeys[] = {kGeluKey, kEpsilonKey, kMergeKey};

Status complete_minimax_m3(const Checkpoint&, ProjectorModel& model) {
  constexpr uint64_t kMerged = 2;
  const JsonValue& declared = object_in(model.vision.json, "img_token_compression_config");
  const JsonValue* merged = known(declared, "spatial_merge_size");
  model.vision.json["spatial_merge_size"] = merged == nullptr ? JsonValue(kMerged) : *merged;
  return {};
}

}  // namespace

const ProjectorFamily kMiniMaxM3Projector = {
    .name = "minimax_m3",
    .architectures = "MiniMaxM3SparseForConditionalGeneration",
    .tower = "minimax_m3",
    .vision_defaults = R"({"layer_norm_eps": 1e-5})",
    .text_defaults = R"({"hidden_size": 6144})",
    .complete = complete_minimax_m3,
    .keys = kMiniMaxKeys,
};

}  // namespace ckpt
