// MiniMax M3: CLIP's tower with frames in twos and a rotation along three axes, and two MLPs.
//
// Source: llama.cpp conversion/minimax.py MiniMaxM3VisionModel; defaults: transformers
// models/minimax_m3_vl/configuration_minimax_m3_vl.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kMiniMaxPrefixes[] = {
    {"vision_tower.vision_model.", "tower."},
    {"multi_modal_projector.", "projector."},
    {"patch_merge_mlp.", "merger."},
};
constexpr TowerRule kMiniMaxTower[] = {
    {"tower.embeddings.patch_embedding.weight", "v.patch_embd.weight", TowerChange::kFrames,
     TowerStore::kPatches, "v.patch_embd.weight.1"},
    {"tower.pre_layrnorm", "v.pre_ln"},
    {"tower.encoder.layers.{}.self_attn.q_proj", "v.blk.{}.attn_q", TowerChange::kAxes},
    {"tower.encoder.layers.{}.self_attn.k_proj", "v.blk.{}.attn_k", TowerChange::kAxes},
    {"projector.linear_{}", "mm.{}"},
    {"merger.linear_{}", "mm.merger.fc{}"},
};
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
    .vision_defaults = R"({"layer_norm_eps": 1e-5, "hidden_size": 1280, "intermediate_size": 5120,
                           "num_hidden_layers": 32, "num_attention_heads": 16, "image_size": 2016,
                           "patch_size": 14})",
    .text_defaults = R"({"hidden_size": 6144})",
    .prefixes = kMiniMaxPrefixes,
    .names = {kMiniMaxTower, kClipLayers},
    .complete = complete_minimax_m3,
    .keys = kMiniMaxKeys,
};

}  // namespace ckpt
