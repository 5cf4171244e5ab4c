// SmolVLM and Idefics 3: SigLIP's tower, whose patches are shuffled into fewer and wider ones.
//
// Source: llama.cpp conversion/smolvlm.py; defaults: transformers
// models/{smolvlm,idefics3}/configuration_*.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kSmolVlmKeys[] = {
    kEpsilonKey,
    {kScaleKey.key, MetaType::kU32, "scale_factor", &ProjectorModel::root},
    kGeluKey,
    {"vision.preproc_image_size", MetaType::kU32, "longest_edge image_size"},
};

Status complete_smolvlm(const Checkpoint&, ProjectorModel& model) {
  const JsonValue* edge = known(object_in(model.preprocessor.json, "size"), "longest_edge");
  if (edge != nullptr) model.vision.json["longest_edge"] = *edge;
  return {};
}

}  // namespace

const ProjectorFamily kSmolVlmProjector = {
    .name = "idefics3",
    .architectures = "SmolVLMForConditionalGeneration Idefics3ForConditionalGeneration",
    .tower = "connected",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .root_defaults = R"({"scale_factor": 2})",
    .text_defaults = R"({"hidden_size": 4096})",
    .complete = complete_smolvlm,
    .keys = kSmolVlmKeys,
};

}  // namespace ckpt
