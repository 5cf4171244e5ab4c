// Llama 4: a tower with a class token, whose patches are shuffled into fewer and wider ones.
//
// Source: llama.cpp conversion/llama4.py Llama4VisionModel; defaults: transformers
// models/llama4/configuration_llama4.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kLlama4Prefixes[] = {
    {"vision_model.", "tower."},
    {"multi_modal_projector.", "projector."},
};

// clang-format off
constexpr TowerRule kLlama4Tower[] = {
    {"projector.linear_1.weight",      "mm.model.fc.weight"},
    {"tower.class_embedding",          "v.class_embd"},
    {"tower.patch_embedding.linear",   "v.patch_embd", TowerChange::kNone, TowerStore::kPatches},
    {"tower.positional_embedding_vlm", "v.position_embd.weight",
     TowerChange::kNone, TowerStore::kF32},
    {"tower.positional_embedding_vlm.weight", "v.position_embd.weight",
     TowerChange::kNone, TowerStore::kF32},
    {"tower.layernorm_pre",            "v.pre_ln"},
    {"tower.layernorm_post",           "v.post_ln"},
    {"tower.model.layers.{}.input_layernorm",          "v.blk.{}.ln1"},
    {"tower.model.layers.{}.post_attention_layernorm", "v.blk.{}.attn_post_norm"},
    {"tower.model.layers.{}.self_attn.q_proj",         "v.blk.{}.attn_q"},
    {"tower.model.layers.{}.self_attn.k_proj",         "v.blk.{}.attn_k"},
    {"tower.model.layers.{}.self_attn.v_proj",         "v.blk.{}.attn_v"},
    {"tower.model.layers.{}.self_attn.o_proj",         "v.blk.{}.attn_out"},
    {"tower.model.layers.{}.mlp.fc1",                  "v.blk.{}.ffn_up"},
    {"tower.model.layers.{}.mlp.fc2",                  "v.blk.{}.ffn_down"},
    {"tower.vision_adapter.mlp.fc{}",                  "mm.model.mlp.{}"},
};
// clang-format on

constexpr std::string_view kLlama4VisionDefaults =
    R"({"hidden_act": "gelu", "norm_eps": 1e-5, "pixel_shuffle_ratio": 0.5})";

Status complete_llama4(const Checkpoint&, ProjectorModel& model) {
  CKPT_SET(model.vision.json["scale_factor"], inverse_of(model.vision, "pixel_shuffle_ratio"));
  CKPT_ASSIGN(const std::string activation, model.vision.word("hidden_act"));
  if (activation == "gelu") return {};
  return unsupported("{}: hidden_act is '{}'; llama.cpp has gelu alone", model.vision.where,
                     activation);
}

constexpr TowerKey kLlama4Keys[] = {
    {kEpsilonKey.key, MetaType::kF32, "norm_eps"},
    kScaleKey,
    kGeluKey,
};

}  // namespace

const ProjectorFamily kLlama4Projector = {
    .name = "llama4",
    .architectures = "Llama4ForConditionalGeneration",
    .vision_defaults = kLlama4VisionDefaults,
    .tower = "shuffled",
    .text_defaults = R"({"hidden_size": 5120})",
    .prefixes = kLlama4Prefixes,
    .names = {kLlama4Tower},
    .complete = complete_llama4,
    .keys = kLlama4Keys,
};

}  // namespace ckpt
