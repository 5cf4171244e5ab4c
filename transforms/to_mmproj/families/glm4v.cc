// GLM-4.1V, GLM-4.5V and GLM-OCR: frames come in twos; a convolution joins patches before a gated
// merger. GLM-OCR has norms of queries and keys, and no positions.
//
// Source: llama.cpp conversion/qwen3vl.py Glm4VVisionModel; defaults: transformers
// models/{glm4v,glm4v_moe,glm_ocr}/configuration_*.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kGlm4vPrefixes[] = {{"model.visual.", ""}, {"visual.", ""}};

// clang-format off
constexpr TowerRule kGlm4vTower[] = {
    {"patch_embed.proj.weight", "v.patch_embd.weight", TowerChange::kFrames, TowerStore::kPatches,
     "v.patch_embd.weight.1"},
    {"patch_embed.proj.bias",   "v.patch_embd.bias"},
    {"embeddings.position_embedding", "v.position_embd", TowerChange::kNone, TowerStore::kF32},
    {"post_conv_layernorm",     "v.norm_embd"},
    {"blocks.{}.norm1",         "v.blk.{}.ln1"},
    {"blocks.{}.norm2",         "v.blk.{}.ln2"},
    {"blocks.{}.attn.qkv",      "v.blk.{}.attn_qkv"},
    {"blocks.{}.attn.q_norm",   "v.blk.{}.attn_q_norm"},
    {"blocks.{}.attn.k_norm",   "v.blk.{}.attn_k_norm"},
    {"blocks.{}.attn.proj",     "v.blk.{}.attn_out"},
    {"blocks.{}.mlp.gate_proj", "v.blk.{}.ffn_gate"},
    {"blocks.{}.mlp.up_proj",   "v.blk.{}.ffn_up"},
    {"blocks.{}.mlp.down_proj", "v.blk.{}.ffn_down"},
    {"post_layernorm",          "v.post_ln"},
    {"downsample",              "mm.patch_merger", TowerChange::kNone, TowerStore::kPatches},
    {"merger.proj",             "mm.model.fc"},
    {"merger.post_projection_norm", "mm.post_norm"},
    {"merger.gate_proj",        "mm.gate"},
    {"merger.up_proj",          "mm.up"},
    {"merger.down_proj",        "mm.down"},
};
// clang-format on
constexpr TowerKey kGlm4vKeys[] = {kActivationKey, kRmsEpsilonKey};

constexpr ProjectorFamily glm4v(std::string_view architectures, std::string_view tower,
                                std::string_view text) {
  return {
      .name = "glm4v",
      .architectures = architectures,
      .vision_defaults = R"({"hidden_act": "silu", "rms_norm_eps": 1e-5})",
      .tower = tower,
      .text_defaults = text,
      .prefixes = kGlm4vPrefixes,
      .names = {kGlm4vTower},
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
