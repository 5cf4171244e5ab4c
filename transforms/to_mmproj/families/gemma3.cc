// Gemma 3: a SigLIP tower and a projection, which stays F16 in every file.
//
// Source: llama.cpp conversion/gemma.py Gemma3VisionModel; defaults: transformers
// models/siglip/configuration_siglip.py. If transformers 5 saves a new model, its names lack
// "vision_model."; the converter omits such a tower.
#include <cmath>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

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
    .tower = "siglip",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .text_defaults = R"({"hidden_size": 2304})",
    .keys = kGemma3Keys,
    .add_keys = add_gemma3_keys,
};

}  // namespace ckpt
