// Gemma 3: a SigLIP tower and a projection, which stays F16 in every file.
//
// Source: llama.cpp conversion/gemma.py Gemma3VisionModel; defaults: transformers
// models/siglip/configuration_siglip.py. If transformers 5 saves a new model, its names lack
// "vision_model."; the converter omits such a tower.
#include <cmath>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kGemma3Prefixes[] = {
    {"vision_tower.vision_model.", "tower."}, {"vision_tower.", "tower."},
    {"multi_modal_projector.", "projector."}, {"model.vision_tower.vision_model.", "tower."},
    {"model.vision_tower.", "tower."},        {"model.multi_modal_projector.", "projector."},
};

// clang-format off
constexpr TowerRule kGemma3TowerNames[] = {
    {"projector.mm_input_projection_weight", "mm.input_projection.weight",
     TowerChange::kNone, TowerStore::kF16},
    {"projector.mm_input_projection.weight", "mm.input_projection.weight",
     TowerChange::kNone, TowerStore::kF16},
    {"projector.mm_soft_emb_norm",           "mm.soft_emb_norm", TowerChange::kAddOne},
    {"tower.embeddings.patch_embedding",     "v.patch_embd",
     TowerChange::kNone, TowerStore::kF32},
};
// clang-format on

constexpr TowerKey kGemma3Keys[] = {kEpsilonKey, kGeluKey};

Status add_gemma3_keys(const ProjectorModel& model, Metadata& metadata) {
  // Patches along a side that become one token; 4, which released models have, is not written.
  constexpr uint64_t kUsualTokens = 256;
  constexpr uint64_t kUsualScale = 4;
  uint64_t tokens = kUsualTokens;
  if (model.preprocessor.json.contains("image_seq_length")) {
    CKPT_ASSIGN(tokens, model.preprocessor.count("image_seq_length"));
  }
  const auto side = static_cast<uint64_t>(std::sqrt(static_cast<double>(tokens)));
  CKPT_ASSIGN(const uint64_t image, model.vision.count("image_size"));
  CKPT_ASSIGN(const uint64_t patch, model.vision.count("patch_size"));
  if (side == 0 || patch == 0) {
    return corrupt("image_seq_length is {}, patch_size {}; expected more than 0", tokens, patch);
  }
  const uint64_t scale = image / patch / side;
  if (scale == 0 || scale == kUsualScale) return {};
  metadata.append("clip.vision.projector.scale_factor", MetaValue::u32(scale));
  return {};
}

}  // namespace

const ProjectorFamily kGemma3Projector = {
    .name = "gemma3",
    .architectures = "Gemma3ForConditionalGeneration",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .tower = "siglip",
    .text_defaults = R"({"hidden_size": 2304})",
    .prefixes = kGemma3Prefixes,
    .names = {kGemma3TowerNames, kClipLayers, kSiglipHead},
    .keys = kGemma3Keys,
    .add_keys = add_gemma3_keys,
};

}  // namespace ckpt
