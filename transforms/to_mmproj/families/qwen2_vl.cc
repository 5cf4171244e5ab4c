// Qwen2-VL and Qwen2.5-VL: frames come in twos, and q, k and v are separate in projectors. In
// Qwen2.5-VL, MLPs are gated, and every n-th layer sees the entire image, the others windows.
//
// Source: llama.cpp conversion/qwenvl.py Qwen2VLVisionModel; defaults: transformers
// models/{qwen2_vl,qwen2_5_vl}/configuration_*.py. feed_forward_length of Qwen2-VL is the width of
// the language model, as the converter writes it; the norms of both towers add 1e-6.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kQwen2VlKeys[] = {kEpsilonKey};
constexpr TowerKey kQwen25VlKeys[] = {
    {"use_silu", MetaType::kBool},
    {"vision.n_wa_pattern", MetaType::kU32, "n_wa_pattern"},
    kEpsilonKey,
};

Status complete_qwen2_vl(const Checkpoint&, ProjectorModel& model) {
  CKPT_ASSIGN(const uint64_t width, model.vision.count("embed_dim"));
  model.vision.json["intermediate_size"] = model.vision.json["hidden_size"];
  model.vision.json["hidden_size"] = width;
  return {};
}

// The list [n - 1, 2n - 1, 3n - 1, ...] as n.
Status complete_qwen25_vl(const Checkpoint&, ProjectorModel& model) {
  uint64_t period = 0, expected = 0;
  for (const JsonValue& item : list_in(model.vision.json, "fullatt_block_indexes")) {
    const auto layer = whole(item);
    if (period == 0 && layer) period = expected = *layer + 1;
    if (!layer || *layer + 1 != expected) period = 0;
    if (period == 0) break;
    expected += period;
  }
  model.vision.json["n_wa_pattern"] = period;
  if (period > 0) return {};
  return unsupported("{}: fullatt_block_indexes is not every n-th layer, as llama.cpp needs it",
                     model.vision.where);
}

constexpr ProjectorFamily qwen2_vl(ProjectorFamily made) {
  made.text_defaults = R"({"hidden_size": 8192})";
  return made;
}

}  // namespace

const ProjectorFamily kQwen2VlProjector = qwen2_vl({
    .name = "qwen2vl_merger",
    .architectures = "Qwen2VLForConditionalGeneration",
    .tower = "resized",
    .vision_defaults = R"({"image_size": 560, "layer_norm_eps": 1e-6})",
    .complete = complete_qwen2_vl,
    .keys = kQwen2VlKeys,
});

const ProjectorFamily kQwen25VlProjector = qwen2_vl({
    .name = "qwen2.5vl_merger",
    .architectures = "Qwen2_5_VLForConditionalGeneration",
    .tower = "windowed",
    .vision_defaults = R"({"image_size": 560, "layer_norm_eps": 1e-6,
                           "fullatt_block_indexes": [7, 15, 23, 31]})",
    .complete = complete_qwen25_vl,
    .keys = kQwen25VlKeys,
});

}  // namespace ckpt
