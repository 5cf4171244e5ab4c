// Gemma 4's tower for images of any size with its conformer for sound, and Whisper's encoder in
// Voxtral and Ultravox.
//
// Sources: transformers models/{gemma4,voxtral,whisper}/{modeling,configuration}_*.py; llama.cpp
// conversion/{gemma,ultravox}.py. Clipped linear layers are accompanied by four bounds each.
#include "models/towers/list.h"

namespace ckpt::towers {
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
// clang-format off
constexpr TowerRule kGemma4Rows[] = {
    {"projector.embedding_projection", "mm.input_projection", "text.hidden_size hidden_size"},
    {"projector.{embedding,hard_embedding_norm,soft_embedding_norm}",
     "mm.{embedding,hard_emb_norm,soft_emb_norm}"},
    {"tower.patch_embedder.input_proj.weight", "v.patch_embd.weight",
     "hidden_size 3*patch_size*patch_size", kWhole,
     {.change = kPixels, .store = kPatches}},
    {"tower.patch_embedder.position_embedding_table", "v.position_embd.weight",
     "2 position_embedding_size hidden_size, bare", kWhole, {.store = kF32}},
    {"tower.std_{bias,scale}", "v.std_{bias,scale}", "hidden_size, bare if:standardize"},
    {"layers.{}.input_layernorm",            "v.blk.{}.ln1", "hidden_size"},
    {"layers.{}.post_attention_layernorm",   "v.blk.{}.attn_post_norm", "hidden_size"},
    {"layers.{}.pre_feedforward_layernorm",  "v.blk.{}.ln2", "hidden_size"},
    {"layers.{}.post_feedforward_layernorm", "v.blk.{}.ffn_post_norm", "hidden_size"},
    {"layers.{}.self_attn.{q,k}_norm", "v.blk.{}.attn_{q,k}_norm", "head_dim"},
    {"layers.{}.self_attn.q_proj", "v.blk.{}.attn_q", "num_attention_heads*head_dim hidden_size"},
    {"layers.{}.self_attn.{k,v}_proj", "v.blk.{}.attn_{k,v}",
     "num_key_value_heads*head_dim hidden_size"},
    {"layers.{}.self_attn.o_proj", "v.blk.{}.attn_out", "hidden_size num_attention_heads*head_dim"},
    {"layers.{}.mlp.{gate,up}_proj", "v.blk.{}.ffn_{gate,up}", "intermediate_size hidden_size"},
    {"layers.{}.mlp.down_proj",      "v.blk.{}.ffn_down", "hidden_size intermediate_size"},
    {"layers.{}.layer_scalar",       "v.blk.{}.out_scale.weight"},
};
constexpr TowerRule kConformerRows[] = {  // in models with audio_config alone
    {"audio_projector.embedding_projection", "mm.a.input_projection"},
    {"audio_projector.{embedding,hard_embedding_norm,soft_embedding_norm}",
     "mm.a.{embedding,hard_emb_norm,soft_emb_norm}"},
    {"audio.output_proj", "a.pre_encode.out"},
    {"audio.subsample_conv_projection.input_proj_linear", "a.input_projection", "",
     kWhole, {.store = kF32}},
    {"audio.subsample_conv_projection.layer{}.conv", "a.conv1d.{}", "", kWhole,
     {.store = kF32}},
    {"audio.subsample_conv_projection.layer{}.norm", "a.conv1d.{}.norm", "", kWhole,
     {.store = kF32}},
    {"conformer.{}.norm_{pre_attn,post_attn,out}", "a.blk.{}.{attn_pre_norm,attn_post_norm,ln2}"},
    {"conformer.{}.self_attn.{q,k,v}_proj",     "a.blk.{}.attn_{q,k,v}"},
    {"conformer.{}.self_attn.post",             "a.blk.{}.attn_out"},
    {"conformer.{}.self_attn.relative_k_proj",  "a.blk.{}.attn_k_rel"},
    {"conformer.{}.self_attn.per_dim_scale",    "a.blk.{}.per_dim_scale.weight", "",
     kWhole, {kSoftplus}},
    {"conformer.{}.feed_forward1.{pre,post}_layer_norm", "a.blk.{}.ffn_{norm,post_norm}"},
    {"conformer.{}.feed_forward1.ffw_layer_{1,2}",       "a.blk.{}.ffn_{up,down}"},
    {"conformer.{}.feed_forward2.{pre,post}_layer_norm", "a.blk.{}.ffn_{norm,post_norm}_1"},
    {"conformer.{}.feed_forward2.ffw_layer_{1,2}",       "a.blk.{}.ffn_{up,down}_1"},
    {"conformer.{}.lconv1d.{pre_layer_norm,conv_norm}",  "a.blk.{}.{conv_norm,norm_conv}"},
    {"conformer.{}.lconv1d.depthwise_conv1d", "a.blk.{}.conv_dw", "", kWhole,
     {.change = kSqueeze, .store = kF32}},
    {"conformer.{}.lconv1d.linear_{start,end}", "a.blk.{}.conv_{pw1,pw2}"},
};
constexpr ClassDefault kGemma4Fields[] = {
    {"num_hidden_layers", "16"}, {"hidden_size", "768"}, {"intermediate_size", "3072"},
    {"num_attention_heads", "12"}, {"num_key_value_heads", "12"}, {"head_dim", "64"},
    {"patch_size", "16"}, {"position_embedding_size", "10240"}, {"standardize", "0"},
};

constexpr TowerPrefix kWhisperPrefixes[] = {
    {"audio_tower.", "tower."}, {"multi_modal_projector.", "projector."},
    {"model.audio_tower.", "tower."}, {"model.multi_modal_projector.", "projector."},
};
constexpr TowerRule kWhisperRows[] = {
    {"tower.conv1.weight", "a.conv1d.1.weight", "audio.hidden_size audio.num_mel_bins 3",
     kWhole, {.store = kF16}},
    {"tower.conv2.weight", "a.conv1d.2.weight", "audio.hidden_size audio.hidden_size 3",
     kWhole, {.store = kF16}},
    {"tower.conv{1,2}.bias", "a.conv1d.{1,2}.bias", "audio.hidden_size", kWhole,
     {kColumn}},
    {"tower.embed_positions", "a.position_embd", "audio.max_source_positions audio.hidden_size",
     kWhole, {.store = kF32}},
    {"tower.layers.{}.{self_attn_layer_norm,final_layer_norm}", "a.blk.{}.{ln1,ln2}",
     "audio.hidden_size, bias"},
    {"tower.layers.{}.self_attn.{q,v}_proj", "a.blk.{}.attn_{q,v}",
     "audio.hidden_size audio.hidden_size, bias", kRows},
    {"tower.layers.{}.self_attn.k_proj",   "a.blk.{}.attn_k",
     "audio.hidden_size audio.hidden_size", kRows},
    {"tower.layers.{}.self_attn.out_proj", "a.blk.{}.attn_out",
     "audio.hidden_size audio.hidden_size, bias", kColumns},
    {"tower.layers.{}.fc1", "a.blk.{}.ffn_up", "audio.intermediate_size audio.hidden_size, bias",
     kRows},
    {"tower.layers.{}.fc2", "a.blk.{}.ffn_down", "audio.hidden_size audio.intermediate_size, bias",
     kColumns},
    {"tower.layer_norm",   "a.post_ln", "audio.hidden_size, bias"},
    {"projector.linear_1", "mm.a.mlp.1", "text.hidden_size audio.intermediate_size"},
    {"projector.linear_2", "mm.a.mlp.2", "text.hidden_size text.hidden_size"},
    {"projector.ln_{pre,mid}", "mm.a.norm_{pre,mid}"},
};
constexpr ClassDefault kWhisperFields[] = {
    {"audio.hidden_size", "1280"}, {"audio.intermediate_size", "5120"},
    {"audio.num_hidden_layers", "32"}, {"audio.num_mel_bins", "128"},
    {"audio.max_source_positions", "1500"},
};
// clang-format on

}  // namespace

const TowerTable kGemma4Tower = {.kind = "gemma4",
                                 .wrappers = "gemma4",
                                 .prefixes = kGemma4Prefixes,
                                 .rows = {kGemma4Rows, kConformerRows},
                                 .defaults = kGemma4Fields,
                                 .more_suffixes = kClipSuffixes,
                                 .mid = ".linear"};
const TowerTable kWhisperTower = {.kind = "whisper",
                                  .wrappers = "voxtral",
                                  .prefixes = kWhisperPrefixes,
                                  .rows = {kWhisperRows},
                                  .defaults = kWhisperFields,
                                  .depth = "audio.num_hidden_layers"};

}  // namespace ckpt::towers
