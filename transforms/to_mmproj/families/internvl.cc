// InternVL 2, 2.5, 3 and 3.5, as OpenGVLab releases them and as transformers saves them: a tower
// with a class token and layer scales, whose patches are shuffled before an MLP.
//
// Source: llama.cpp conversion/internvl.py; defaults: transformers
// models/internvl/configuration_internvl.py, and OpenGVLab's configuration_intern_vit.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kInternVlKeys[] = {
    kEpsilonKey,
    kActivationKey,
    kScaleKey,
    {"vision.preproc_min_tiles", MetaType::kU32, "min_dynamic_patch", &ProjectorModel::root, true},
    {"vision.preproc_max_tiles", MetaType::kU32, "max_dynamic_patch", &ProjectorModel::root, true},
};

// Sizes may be pairs, of which the first counts; a number of tiles that is 0 has no key.
Status complete_internvl(const Checkpoint&, ProjectorModel& model) {
  for (const char* field : {"image_size", "patch_size"}) {
    const JsonValue list = list_in(model.vision.json, field);
    if (!list.empty()) model.vision.json[field] = list.front();
  }
  for (const char* field : {"min_dynamic_patch", "max_dynamic_patch"}) {
    const JsonValue* tiles = model.root.find(field);
    if (tiles != nullptr && whole(*tiles) == 0) model.root.json.erase(field);
  }
  CKPT_SET(model.vision.json["scale_factor"], inverse_of(model.root, "downsample_ratio"));
  return {};
}

}  // namespace

const ProjectorFamily kInternVlProjector = {
    .name = "internvl",
    .architectures = "InternVLChatModel InternVLForConditionalGeneration",
    .tower = "internvl",
    .vision_defaults = R"({"hidden_act": "gelu", "layer_norm_eps": 1e-6})",
    .root_defaults = R"({"downsample_ratio": 0.5})",
    .text_defaults = R"({"hidden_size": 4096})",
    .complete = complete_internvl,
    .keys = kInternVlKeys,
};

}  // namespace ckpt
