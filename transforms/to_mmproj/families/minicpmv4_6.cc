// MiniCPM-V 4.6: SigLIP's tower; a merger with attention within windows after one of its layers,
// and another behind the last. Downsampling by 4 does without the first.
//
// Source: llama.cpp conversion/minicpm.py MiniCPMV4_6VisionModel; defaults: transformers
// models/minicpmv4_6/configuration_minicpmv4_6.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kMiniCpmKeys[] = {
    kScaleKey,
    {"vision.wa_layer_indexes", MetaType::kArray, "merged_after"},
    kGeluKey,
    kEpsilonKey,
};

Status complete_minicpm_v46(const Checkpoint&, ProjectorModel& model) {
  JsonValue& vision = model.vision.json;
  const std::string mode(text_in(model.preprocessor.json, "downsample_mode"));
  if (!mode.empty() && mode != "4x" && mode != "16x") {
    return unsupported("{}: downsample_mode is '{}'; llama.cpp has 4x and 16x",
                       model.preprocessor.where, mode);
  }
  vision["scale_factor"] = uint64_t{mode == "4x" ? 2U : 4U};
  if (mode == "4x") model.left_out = "merger.";
  CKPT_ASSIGN(const uint64_t layer, model.root.count("insert_layer_id"));
  vision["merged_after"] = {layer};
  const JsonValue* slice = model.preprocessor.find("scale_resolution");
  if (slice != nullptr) vision["image_size"] = *slice;
  return {};
}

}  // namespace

const ProjectorFamily kMiniCpmV46Projector = {
    .name = "minicpmv4_6",
    .architectures = "MiniCPMV4_6ForConditionalGeneration",
    .tower = "minicpmv4_6",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .root_defaults = R"({"insert_layer_id": 6})",
    .text_defaults = R"({"hidden_size": 4096})",
    .complete = complete_minicpm_v46,
    .keys = kMiniCpmKeys,
};

}  // namespace ckpt
