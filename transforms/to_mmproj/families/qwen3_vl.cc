// Qwen3-VL, dense and mixture of experts, and Qwen3.5 have the same tower. Frames come in pairs, so
// the patch embedding is a convolution over two frames and is written as two tensors; mergers of
// some layers feed the language model in addition to the last one (deepstack).
//
// Source: llama.cpp conversion/qwen3vl.py Qwen3VLVisionModel; defaults: transformers
// models/qwen3_vl/configuration_qwen3_vl.py, models/qwen3_5/configuration_qwen3_5.py.
#include <cmath>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

Status complete_qwen3_vl(const Checkpoint&, ProjectorModel& model) {
  JsonValue& vision = model.vision.json;
  if (!vision.contains("image_size")) {
    CKPT_ASSIGN(const uint64_t positions, model.vision.count("num_position_embeddings"));
    CKPT_ASSIGN(const uint64_t patch, model.vision.count("patch_size"));
    const double side = std::sqrt(static_cast<double>(positions));
    vision["image_size"] = static_cast<uint64_t>(side * static_cast<double>(patch));
  }
  CKPT_ASSIGN(const uint64_t layers, model.vision.count("depth"));
  const JsonValue* list = model.vision.find("deepstack_visual_indexes");
  if (list == nullptr) return {};
  for (const JsonValue& item : *list) {
    const auto layer = whole(item);
    if (!list->is_array() || !layer || *layer >= layers) {
      return corrupt("{}: deepstack_visual_indexes is {}; expected numbers of its {} layers",
                     model.vision.where, list->dump(), layers);
    }
    model.deepstack.push_back(*layer);
  }
  return {};
}

// The converter takes the language model's epsilon; the tower's own is nowhere in the
// configuration.
constexpr TowerKey kQwen3VlKeys[] = {
    kGeluKey,
    {kMergeKey.key, MetaType::kU32, "spatial_merge_size", &ProjectorModel::vision, true},
    {kEpsilonKey.key, MetaType::kF32, "rms_norm_eps", &ProjectorModel::text},
};

Status add_qwen3_vl_keys(const ProjectorModel& model, Metadata& metadata) {
  CKPT_ASSIGN(const uint64_t layers, model.vision.count("depth"));
  std::vector<bool> reads(layers, false);
  for (const uint64_t layer : model.deepstack) reads[layer] = true;
  if (!reads.empty()) {
    metadata.append("clip.vision.is_deepstack_layers", MetaValue::array(make_bool_array(reads)));
  }
  return {};
}

constexpr ProjectorFamily qwen3_vl(std::string_view architectures, std::string_view tower,
                                   std::string_view text) {
  return {
      .name = "qwen3vl_merger",
      .architectures = architectures,
      .tower = tower,
      .vision_defaults =
          tower == "deepstack" ? R"({"deepstack_visual_indexes": [8, 16, 24]})" : "{}",
      .text_defaults = text,
      .complete = complete_qwen3_vl,
      .keys = kQwen3VlKeys,
      .add_keys = add_qwen3_vl_keys,
  };
}

}  // namespace

const ProjectorFamily kQwen3VlProjector =
    qwen3_vl("Qwen3VLForConditionalGeneration", "deepstack",
             R"({"hidden_size": 4096, "rms_norm_eps": 1e-6})");
const ProjectorFamily kQwen3VlMoeProjector =
    qwen3_vl("Qwen3VLMoeForConditionalGeneration", "deepstack",
             R"({"hidden_size": 2048, "rms_norm_eps": 1e-6})");
const ProjectorFamily kQwen35Projector =
    qwen3_vl("Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration"
             " Qwen4ExpForConditionalGeneration",
             "merged", R"({"rms_norm_eps": 1e-6})");

}  // namespace ckpt
