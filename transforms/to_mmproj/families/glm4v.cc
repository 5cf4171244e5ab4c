// GLM-4.1V, GLM-4.5V and GLM-OCR: frames come in twos; a convolution joins patches before a gated
// merger. GLM-OCR has norms of queries and keys, and no positions.
//
// Source: llama.cpp conversion/qwen3vl.py Glm4VVisionModel; defaults: transformers
// models/{glm4v,glm4v_moe,glm_ocr}/configuration_*.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kGlm4vKeys[] = {kActivationKey, kRmsEpsilonKey};

constexpr ProjectorFamily glm4v(std::string_view architectures, std::string_view tower,
                                std::string_view text) {
  return {
      .name = "glm4v",
      .architectures = architectures,
      .tower = tower,
      .vision_defaults = R"({"hidden_act": "silu", "rms_norm_eps": 1e-5})",
      .text_defaults = text,
      .keys = kGlm4vKeys,
  };
}

}  // namespace

const ProjectorFamily kGlm4vProjector =
    glm4v("Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration", "downsampled",
          R"({"hidden_size": 4096})");
const ProjectorFamily kGlmOcrProjector =
    glm4v("GlmOcrForConditionalGeneration", "normed", R"({"hidden_size": 1024})");

}  // namespace ckpt
