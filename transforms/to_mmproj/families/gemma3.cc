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
    {"tower.embeddings.position_embedding",  "v.position_embd",
     TowerChange::kNone, TowerStore::kF32},
    {"tower.encoder.layers.{}.layer_norm1",        "v.blk.{}.ln1"},
    {"tower.encoder.layers.{}.layer_norm2",        "v.blk.{}.ln2"},
    {"tower.encoder.layers.{}.mlp.fc1",            "v.blk.{}.ffn_up"},
    {"tower.encoder.layers.{}.mlp.fc2",            "v.blk.{}.ffn_down"},
    {"tower.encoder.layers.{}.self_attn.q_proj",   "v.blk.{}.attn_q"},
    {"tower.encoder.layers.{}.self_attn.k_proj",   "v.blk.{}.attn_k"},
    {"tower.encoder.layers.{}.self_attn.v_proj",   "v.blk.{}.attn_v"},
    {"tower.encoder.layers.{}.self_attn.out_proj", "v.blk.{}.attn_out"},
    {"tower.post_layernorm",                       "v.post_ln"},
    {"tower.head.probe", ""},                      // SigLIP's own pooling, which Gemma does not use
    {"tower.head.attention.in_proj_weight", ""},
    {"tower.head.attention.in_proj_bias", ""},
    {"tower.head.attention.out_proj", ""},
    {"tower.head.layernorm", ""},
    {"tower.head.mlp.fc1", ""},
    {"tower.head.mlp.fc2", ""},
};
// clang-format on

Status add_gemma3_keys(const ProjectorModel& model, Metadata& metadata) {
  CKPT_ASSIGN(const double epsilon, model.vision.real("layer_norm_eps"));
  metadata.append("clip.vision.attention.layer_norm_epsilon", MetaValue::f32(epsilon));
  metadata.append("clip.use_gelu", MetaValue::boolean(true));
  // Patches per side that become one token; the usual 4 of released models is not written.
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
    .names = kGemma3TowerNames,
    .add_keys = add_gemma3_keys,
};

}  // namespace ckpt
