// InternVL 2, 2.5, 3 and 3.5, as OpenGVLab releases them and as transformers saves them: a tower
// with a class token and layer scales, whose patches are shuffled before an MLP.
//
// Source: llama.cpp conversion/internvl.py; defaults: transformers
// models/internvl/configuration_internvl.py, and OpenGVLab's configuration_intern_vit.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kInternVlPrefixes[] = {{"vision_model.", "tower."},
                                             {"mlp1.", "mlp."},
                                             {"model.vision_tower.encoder.layer.", "layer."},
                                             {"model.vision_tower.", "tower."},
                                             {"model.multi_modal_projector.", "projector."}};

// clang-format off
constexpr TowerRule kInternVlTower[] = {
    {"tower.embeddings.class_embedding",    "v.class_embd"},
    {"tower.embeddings.patch_embedding",    "v.patch_embd",
     TowerChange::kNone, TowerStore::kPatches},
    {"tower.embeddings.position_embedding", "v.position_embd.weight",
     TowerChange::kNone, TowerStore::kF32},
    {"tower.encoder.layers.{}.norm1",       "v.blk.{}.ln1"},
    {"tower.encoder.layers.{}.norm2",       "v.blk.{}.ln2"},
    {"tower.encoder.layers.{}.ls1",         "v.blk.{}.ls1.weight"},
    {"tower.encoder.layers.{}.ls2",         "v.blk.{}.ls2.weight"},
    {"tower.encoder.layers.{}.attn.q_norm", "v.blk.{}.attn_q_norm"},
    {"tower.encoder.layers.{}.attn.k_norm", "v.blk.{}.attn_k_norm"},
    {"tower.encoder.layers.{}.attn.qkv",    "v.blk.{}.attn_q", TowerChange::kThirds,
     TowerStore::kByRules, "v.blk.{}.attn_k v.blk.{}.attn_v"},
    {"tower.encoder.layers.{}.attn.proj",   "v.blk.{}.attn_out"},
    {"tower.encoder.layers.{}.mlp.fc1",     "v.blk.{}.ffn_up"},
    {"tower.encoder.layers.{}.mlp.fc2",     "v.blk.{}.ffn_down"},
    {"mlp.{}",                              "mm.model.mlp.{}"},
    {"tower.embeddings.cls_token",          "v.class_embd"},
    {"tower.embeddings.mask_token",         ""},  // of training
    {"tower.embeddings.position_embeddings", "v.position_embd.weight",
     TowerChange::kNone, TowerStore::kF32},
    {"tower.embeddings.patch_embeddings.projection", "v.patch_embd",
     TowerChange::kNone, TowerStore::kPatches},
    {"layer.{}.layernorm_before",           "v.blk.{}.ln1"},
    {"layer.{}.layernorm_after",            "v.blk.{}.ln2"},
    {"layer.{}.lambda_1",                   "v.blk.{}.ls1.weight"},
    {"layer.{}.lambda_2",                   "v.blk.{}.ls2.weight"},
    {"layer.{}.attention.q_norm",           "v.blk.{}.attn_q_norm"},
    {"layer.{}.attention.k_norm",           "v.blk.{}.attn_k_norm"},
    {"layer.{}.attention.q_proj",           "v.blk.{}.attn_q"},
    {"layer.{}.attention.k_proj",           "v.blk.{}.attn_k"},
    {"layer.{}.attention.v_proj",           "v.blk.{}.attn_v"},
    {"layer.{}.attention.projection_layer", "v.blk.{}.attn_out"},
    {"layer.{}.mlp.fc1",                    "v.blk.{}.ffn_up"},
    {"layer.{}.mlp.fc2",                    "v.blk.{}.ffn_down"},
    {"projector.layer_norm",                "mm.model.mlp.0"},
    {"projector.linear_1",                  "mm.model.mlp.1"},
    {"projector.linear_2",                  "mm.model.mlp.3"},
};
// clang-format on
constexpr TowerKey kInternVlKeys[] = {
    kEpsilonKey,
    kActivationKey,
    kScaleKey,
    {"vision.preproc_min_tiles", MetaType::kU32, "min_dynamic_patch", &ProjectorModel::root, true},
    {"vision.preproc_max_tiles", MetaType::kU32, "max_dynamic_patch", &ProjectorModel::root, true},
};

// Sizes may be pairs, of which the first counts; a number of tiles that is 0 has no key.
Status complete_internvl(const Checkpoint&, ProjectorModel& model) {
  for (const char* field : {"image_size", "patch_size"}) {
    const JsonValue list = list_in(model.vision.json, field);
    if (!list.empty()) model.vision.json[field] = list.front();
  }
  for (const char* field : {"min_dynamic_patch", "max_dynamic_patch"}) {
    const JsonValue* tiles = model.root.find(field);
    if (tiles != nullptr && whole(*tiles) == 0) model.root.json.erase(field);
  }
  CKPT_SET(model.vision.json["scale_factor"], inverse_of(model.root, "downsample_ratio"));
  return {};
}

}  // namespace

const ProjectorFamily kInternVlProjector = {
    .name = "internvl",
    .architectures = "InternVLChatModel InternVLForConditionalGeneration",
    .vision_defaults = R"({"image_size": 448, "patch_size": 14, "hidden_size": 1024,
                           "num_hidden_layers": 24, "num_attention_heads": 16,
                           "intermediate_size": 4096, "hidden_act": "gelu",
                           "layer_norm_eps": 1e-6})",
    .root_defaults = R"({"downsample_ratio": 0.5})",
    .text_defaults = R"({"hidden_size": 4096})",
    .prefixes = kInternVlPrefixes,
    .names = {kInternVlTower},
    .complete = complete_internvl,
    .keys = kInternVlKeys,
};

}  // namespace ckpt
