// Whisper's encoder before a language model: Voxtral and Ultravox. The folder of an Ultravox has no
// language model.
//
// Source: llama.cpp conversion/ultravox.py; defaults: transformers
// models/{voxtral,whisper}/configuration_*.py, and Fixie's configuration of Ultravox.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kWhisperPrefixes[] = {
    {"audio_tower.", ""}, {"multi_modal_projector.", "projector."},
    {"model.audio_tower.", ""}, {"model.multi_modal_projector.", "projector."},
};
// clang-format off
constexpr TowerRule kWhisperTower[] = {
    {"conv{}.weight",                   "a.conv1d.{}.weight", TowerChange::kNone, TowerStore::kF16},
    {"conv{}.bias",                     "a.conv1d.{}.bias", TowerChange::kColumn},
    {"embed_positions",                 "a.position_embd", TowerChange::kNone, TowerStore::kF32},
    {"layers.{}.self_attn_layer_norm",  "a.blk.{}.ln1"},
    {"layers.{}.final_layer_norm",      "a.blk.{}.ln2"},
    {"layers.{}.self_attn.q_proj",      "a.blk.{}.attn_q"},
    {"layers.{}.self_attn.k_proj",      "a.blk.{}.attn_k"},
    {"layers.{}.self_attn.v_proj",      "a.blk.{}.attn_v"},
    {"layers.{}.self_attn.out_proj",    "a.blk.{}.attn_out"},
    {"layers.{}.fc1",                   "a.blk.{}.ffn_up"},
    {"layers.{}.fc2",                   "a.blk.{}.ffn_down"},
    {"layer_norm",                      "a.post_ln"},
    {"projector.ln_pre",                "mm.a.norm_pre"},
    {"projector.ln_mid",                "mm.a.norm_mid"},
    {"projector.linear_{}",             "mm.a.mlp.{}"},
};
// clang-format on
constexpr TowerKey kVoxtralKeys[] = {
    {"audio.num_mel_bins", MetaType::kU32, "num_mel_bins", &ProjectorModel::audio},
    {"audio.attention.layer_norm_epsilon", MetaType::kF32, "layer_norm_eps",
     &ProjectorModel::audio},
    {"audio.projector.stack_factor", MetaType::kU32, "stack_factor", &ProjectorModel::audio},
};
constexpr TowerKey kUltravoxKeys[] = {
    kVoxtralKeys[0],
    kVoxtralKeys[1],
    {kVoxtralKeys[2].key, MetaType::kU32, "stack_factor", &ProjectorModel::root},
};

}  // namespace

const ProjectorFamily kVoxtralProjector = {
    .name = "voxtral",
    .architectures = "VoxtralForConditionalGeneration",
    .text_defaults = R"({"hidden_size": 3072})",
    .audio_defaults = R"({"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32,
                          "num_attention_heads": 20, "num_mel_bins": 128, "layer_norm_eps": 1e-5,
                          "stack_factor": 4})",
    .prefixes = kWhisperPrefixes,
    .names = {kWhisperTower},
    .keys = kVoxtralKeys,
};

const ProjectorFamily kUltravoxProjector = {
    .name = "ultravox",
    .architectures = "UltravoxModel",
    .audio_defaults = R"({"layer_norm_eps": 1e-5})",
    .prefixes = kWhisperPrefixes,
    .names = {kWhisperTower},
    .keys = kUltravoxKeys,
};

}  // namespace ckpt
