// HunyuanOCR: a tower whose positions are those of patches alone, and two convolutions before the
// language model.
//
// Source: llama.cpp conversion/hunyuan.py HunyuanVLVisionModel; defaults: transformers
// models/hunyuan_vl/configuration_hunyuan_vl.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kHunyuanKeys[] = {
    kGeluKey,
    kRmsEpsilonKey,
    kMergeKey,
    {"vision.image_min_pixels", MetaType::kU32, "min_pixels", &ProjectorModel::preprocessor},
    {"vision.image_max_pixels", MetaType::kU32, "max_pixels", &ProjectorModel::preprocessor},
};

Status complete_hunyuan_vl(const Checkpoint&, ProjectorModel& model) {
  if (model.vision.find("image_size") != nullptr) return {};
  CKPT_SET(model.vision.json["image_size"], model.vision.count("max_image_size"));
  return {};
}

}  // namespace

const ProjectorFamily kHunyuanVlProjector = {
    .name = "hunyuanvl",
    .architectures = "HunYuanVLForConditionalGeneration",
    .tower = "hunyuan_vl",
    .vision_defaults = R"({"rms_norm_eps": 1e-5})",
    .text_defaults = R"({"hidden_size": 4096})",
    .complete = complete_hunyuan_vl,
    .keys = kHunyuanKeys,
};

}  // namespace ckpt
