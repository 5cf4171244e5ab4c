// HunyuanOCR: a tower whose positions are those of patches alone, and two convolutions before the
// language model.
//
// Source: llama.cpp conversion/hunyuan.py HunyuanVLVisionModel; defaults: transformers
// models/hunyuan_vl/configuration_hunyuan_vl.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kHunyuanPrefixes[] = {
    {"vit.perceive.", "perceive."}, {"vit.", "tower."},
    {"model.vit.perceive.", "perceive."}, {"model.vit.", "tower."},
};
// clang-format off
constexpr TowerRule kHunyuanTower[] = {
    {"tower.embeddings.patch_embedding", "v.patch_embd", TowerChange::kNone, TowerStore::kPatches},
    {"tower.embeddings.position_embedding", "v.position_embd", TowerChange::kNextRows,
     TowerStore::kF32},
    {"tower.layers.{}.input_layernorm",          "v.blk.{}.ln1"},
    {"tower.layers.{}.post_attention_layernorm", "v.blk.{}.ln2"},
    {"tower.layers.{}.mlp.dense_h_to_4h",        "v.blk.{}.ffn_up"},
    {"tower.layers.{}.mlp.dense_4h_to_h",        "v.blk.{}.ffn_down"},
    {"tower.layers.{}.self_attn.q_proj",         "v.blk.{}.attn_q"},
    {"tower.layers.{}.self_attn.k_proj",         "v.blk.{}.attn_k"},
    {"tower.layers.{}.self_attn.v_proj",         "v.blk.{}.attn_v"},
    {"tower.layers.{}.self_attn.o_proj",         "v.blk.{}.attn_out"},
    {"perceive.before_rms",    "mm.pre_norm"},
    {"perceive.after_rms",     "mm.post_norm"},
    {"perceive.image_begin",   "mm.image_begin"},
    {"perceive.image_end",     "mm.image_end"},
    {"perceive.image_newline", "v.image_newline"},
    {"perceive.image_sep",     "v.view_seperator"},
    {"perceive.mlp",           "mm.model.fc"},
    {"perceive.proj.{}",       "mm.{}", TowerChange::kNone, TowerStore::kPatches},
};
// clang-format on
constexpr TowerKey kHunyuanKeys[] = {
    kGeluKey,
    kRmsEpsilonKey,
    kMergeKey,
    {"vision.image_min_pixels", MetaType::kU32, "min_pixels", &ProjectorModel::preprocessor},
    {"vision.image_max_pixels", MetaType::kU32, "max_pixels", &ProjectorModel::preprocessor},
};

Status complete_hunyuan_vl(const Checkpoint&, ProjectorModel& model) {
  if (model.vision.find("image_size") != nullptr) return {};
  CKPT_SET(model.vision.json["image_size"], model.vision.count("max_image_size"));
  return {};
}

}  // namespace

const ProjectorFamily kHunyuanVlProjector = {
    .name = "hunyuanvl",
    .architectures = "HunYuanVLForConditionalGeneration",
    .vision_defaults = R"({"rms_norm_eps": 1e-5, "max_image_size": 2048, "hidden_size": 1152,
                           "intermediate_size": 4304, "num_hidden_layers": 27,
                           "num_attention_heads": 16, "patch_size": 16, "spatial_merge_size": 2})",
    .text_defaults = R"({"hidden_size": 4096})",
    .prefixes = kHunyuanPrefixes,
    .names = {kHunyuanTower},
    .complete = complete_hunyuan_vl,
    .keys = kHunyuanKeys,
};

}  // namespace ckpt
