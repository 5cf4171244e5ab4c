// Llama 4: a tower with a class token, whose patches are shuffled into fewer and wider ones.
//
// Source: llama.cpp conversion/llama4.py Llama4VisionModel; defaults: transformers
// models/llama4/configuration_llama4.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr std::string_view kLlama4VisionDefaults =
    R"({"hidden_act": "gelu", "norm_eps": 1e-5, "pixel_shuffle_ratio": 0.5})";

Status complete_llama4(const Checkpoint&, ProjectorModel& model) {
  CKPT_SET(model.vision.json["scale_factor"], inverse_of(model.vision, "pixel_shuffle_ratio"));
  CKPT_ASSIGN(const std::string activation, model.vision.word("hidden_act"));
  if (activation == "gelu") return {};
  return unsupported("{}: hidden_act is '{}'; llama.cpp has gelu alone", model.vision.where,
                     activation);
}

constexpr TowerKey kLlama4Keys[] = {
    {kEpsilonKey.key, MetaType::kF32, "norm_eps"},
    kScaleKey,
    kGeluKey,
};

}  // namespace

const ProjectorFamily kLlama4Projector = {
    .name = "llama4",
    .architectures = "Llama4ForConditionalGeneration",
    .tower = "shuffled",
    .vision_defaults = kLlama4VisionDefaults,
    .text_defaults = R"({"hidden_size": 5120})",
    .complete = complete_llama4,
    .keys = kLlama4Keys,
};

}  // namespace ckpt
