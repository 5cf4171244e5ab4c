// LFM2-VL: SigLIP 2's tower for images of any size, and two linear layers.
//
// Source: llama.cpp conversion/lfm2.py LFM2VLModel; defaults: transformers
// models/{lfm2_vl,siglip2}/configuration_*.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kLfm2VlKeys[] = {
    kEpsilonKey,
    {kScaleKey.key, MetaType::kU32, "downsample_factor", &ProjectorModel::root},
    kGeluKey,
};

Status complete_lfm2_vl(const Checkpoint&, ProjectorModel& model) {
  constexpr uint64_t kUnusedImageSize = 256;  // llama.cpp requires one
  model.vision.json["image_size"] = kUnusedImageSize;
  return {};
}

// vision_feature_layer counts from behind; layers after it are not computed.
Status set_lfm2_layers(const ProjectorModel& model, Metadata& metadata) {
  CKPT_ASSIGN(const uint64_t layers, model.vision.count(kBlockFields));
  CKPT_ASSIGN(const double feature, model.root.real("vision_feature_layer"));
  const double used = static_cast<double>(layers) + feature + 1;
  if (!(used >= 1 && used <= static_cast<double>(layers))) {
    return corrupt("config.json: vision_feature_layer is {}; expected -{} to -1", feature, layers);
  }
  metadata.set("clip.vision.block_count", MetaValue::u32(static_cast<uint64_t>(used)));
  return {};
}

}  // namespace

const ProjectorFamily kLfm2VlProjector = {
    .name = "lfm2",
    .architectures = "Lfm2VlForConditionalGeneration",
    .tower = "lfm2_vl",
    .vision_defaults = R"({"layer_norm_eps": 1e-6, "patch_size": 16})",
    .root_defaults = R"({"downsample_factor": 2, "vision_feature_layer": -1})",
    .text_defaults = R"({"hidden_size": 2560})",
    .complete = complete_lfm2_vl,
    .keys = kLfm2VlKeys,
    .add_keys = set_lfm2_layers,
};

}  // namespace ckpt
