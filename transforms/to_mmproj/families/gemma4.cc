// Gemma 4: a tower for images of any size, and in smaller models a conformer for sound.
//
// Source: llama.cpp conversion/gemma.py Gemma4VisionAudioModel; defaults: transformers
// models/gemma4/configuration_gemma4.py. Clipped linear layers are accompanied by four bounds each.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kGemma4Prefixes[] = {
    {"model.vision_tower.encoder.layers.", "layers."},
    {"model.vision_tower.", "tower."},
    {"model.embed_vision.", "projector."},
    {"model.audio_tower.layers.", "conformer."},
    {"model.audio_tower.", "audio."},
    {"model.embed_audio.", "audio_projector."},
};
constexpr std::string_view kClipSuffixes[] = {".input_max", ".input_min", ".output_max",
                                              ".output_min"};

constexpr TowerChange kAsItIs = TowerChange::kNone;

// clang-format off
constexpr TowerRule kGemma4Towers[] = {
    {"projector.embedding_projection",  "mm.input_projection"},
    {"projector.embedding",             "mm.embedding"},
    {"projector.hard_embedding_norm",   "mm.hard_emb_norm"},
    {"projector.soft_embedding_norm",   "mm.soft_emb_norm"},
    {"tower.patch_embedder.input_proj.weight", "v.patch_embd.weight",
     TowerChange::kPixels, TowerStore::kPatches},
    {"tower.patch_embedder.position_embedding_table", "v.position_embd.weight",
     kAsItIs, TowerStore::kF32},
    {"tower.std_bias",                  "v.std_bias"},
    {"tower.std_scale",                 "v.std_scale"},
    {"layers.{}.input_layernorm",            "v.blk.{}.ln1"},
    {"layers.{}.post_attention_layernorm",   "v.blk.{}.attn_post_norm"},
    {"layers.{}.pre_feedforward_layernorm",  "v.blk.{}.ln2"},
    {"layers.{}.post_feedforward_layernorm", "v.blk.{}.ffn_post_norm"},
    {"layers.{}.self_attn.q_norm",           "v.blk.{}.attn_q_norm"},
    {"layers.{}.self_attn.k_norm",           "v.blk.{}.attn_k_norm"},
    {"layers.{}.self_attn.q_proj",           "v.blk.{}.attn_q"},
    {"layers.{}.self_attn.k_proj",           "v.blk.{}.attn_k"},
    {"layers.{}.self_attn.v_proj",           "v.blk.{}.attn_v"},
    {"layers.{}.self_attn.o_proj",           "v.blk.{}.attn_out"},
    {"layers.{}.mlp.gate_proj",              "v.blk.{}.ffn_gate"},
    {"layers.{}.mlp.up_proj",                "v.blk.{}.ffn_up"},
    {"layers.{}.mlp.down_proj",              "v.blk.{}.ffn_down"},
    {"layers.{}.layer_scalar",               "v.blk.{}.out_scale.weight"},

    {"audio_projector.embedding_projection", "mm.a.input_projection"},
    {"audio_projector.embedding",            "mm.a.embedding"},
    {"audio_projector.hard_embedding_norm",  "mm.a.hard_emb_norm"},
    {"audio_projector.soft_embedding_norm",  "mm.a.soft_emb_norm"},
    {"audio.output_proj",                    "a.pre_encode.out"},
    {"audio.subsample_conv_projection.input_proj_linear", "a.input_projection",
     kAsItIs, TowerStore::kF32},
    {"audio.subsample_conv_projection.layer{}.conv", "a.conv1d.{}", kAsItIs, TowerStore::kF32},
    {"audio.subsample_conv_projection.layer{}.norm", "a.conv1d.{}.norm", kAsItIs,
     TowerStore::kF32},
    {"conformer.{}.norm_pre_attn",           "a.blk.{}.attn_pre_norm"},
    {"conformer.{}.norm_post_attn",          "a.blk.{}.attn_post_norm"},
    {"conformer.{}.norm_out",                "a.blk.{}.ln2"},
    {"conformer.{}.self_attn.q_proj",        "a.blk.{}.attn_q"},
    {"conformer.{}.self_attn.k_proj",        "a.blk.{}.attn_k"},
    {"conformer.{}.self_attn.v_proj",        "a.blk.{}.attn_v"},
    {"conformer.{}.self_attn.post",          "a.blk.{}.attn_out"},
    {"conformer.{}.self_attn.relative_k_proj", "a.blk.{}.attn_k_rel"},
    {"conformer.{}.self_attn.per_dim_scale",   "a.blk.{}.per_dim_scale.weight",
     TowerChange::kSoftplus},
    {"conformer.{}.feed_forward1.pre_layer_norm",     "a.blk.{}.ffn_norm"},
    {"conformer.{}.feed_forward1.post_layer_norm",    "a.blk.{}.ffn_post_norm"},
    {"conformer.{}.feed_forward1.ffw_layer_1",        "a.blk.{}.ffn_up"},
    {"conformer.{}.feed_forward1.ffw_layer_2",        "a.blk.{}.ffn_down"},
    {"conformer.{}.feed_forward2.pre_layer_norm",     "a.blk.{}.ffn_norm_1"},
    {"conformer.{}.feed_forward2.post_layer_norm",    "a.blk.{}.ffn_post_norm_1"},
    {"conformer.{}.feed_forward2.ffw_layer_1",        "a.blk.{}.ffn_up_1"},
    {"conformer.{}.feed_forward2.ffw_layer_2",        "a.blk.{}.ffn_down_1"},
    {"conformer.{}.lconv1d.pre_layer_norm",           "a.blk.{}.conv_norm"},
    {"conformer.{}.lconv1d.conv_norm",                "a.blk.{}.norm_conv"},
    {"conformer.{}.lconv1d.depthwise_conv1d",         "a.blk.{}.conv_dw",
     TowerChange::kSqueeze, TowerStore::kF32},
    {"conformer.{}.lconv1d.linear_start",             "a.blk.{}.conv_pw1"},
    {"conformer.{}.lconv1d.linear_end",               "a.blk.{}.conv_pw2"},
};
// clang-format on

constexpr std::string_view kGemma4VisionDefaults =
    R"({"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 16,
        "num_attention_heads": 12, "patch_size": 16, "layer_norm_eps": 1e-6})";
constexpr std::string_view kGemma4AudioDefaults =
    R"({"hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8,
        "input_feat_size": 128, "layer_norm_eps": 1e-6})";

Status complete_gemma4(const Checkpoint&, ProjectorModel& model) {
  constexpr uint64_t kUnusedImageSize = 224;  // llama.cpp requires the key but does not use it
  constexpr uint64_t kWidening = 4;
  model.vision.json["image_size"] = kUnusedImageSize;
  if (!model.hears()) return {};
  CKPT_ASSIGN(const uint64_t width, model.audio.count("hidden_size"));
  model.audio.json["intermediate_size"] = width * kWidening;
  return {};
}

constexpr TowerKey kGemma4Keys[] = {kEpsilonKey};

Status add_gemma4_keys(const ProjectorModel& model, Metadata& metadata) {
  if (!model.hears()) return {};
  metadata.append("clip.audio.projector_type", MetaValue::text("gemma4a"));
  CKPT_ASSIGN(const uint64_t bins, model.audio.count("input_feat_size"));
  metadata.append("clip.audio.num_mel_bins", MetaValue::u32(bins));
  CKPT_ASSIGN(const double heard, model.audio.real("layer_norm_eps"));
  metadata.append("clip.audio.attention.layer_norm_epsilon", MetaValue::f32(heard));
  return {};
}

}  // namespace

const ProjectorFamily kGemma4Projector = {
    .name = "gemma4v",
    .architectures = "Gemma4ForConditionalGeneration",
    .vision_defaults = kGemma4VisionDefaults,
    .text_defaults = R"({"hidden_size": 2304})",
    .audio_defaults = kGemma4AudioDefaults,
    .prefixes = kGemma4Prefixes,
    .names = {kGemma4Towers},
    .more_suffixes = kClipSuffixes,
    .left_out = ".linear",
    .complete = complete_gemma4,
    .keys = kGemma4Keys,
    .add_keys = add_gemma4_keys,
};

}  // namespace ckpt
