// Gemma 3n's towers: MobileNet V5 for images, whose blocks have a stage and a number, and a
// conformer for sound.
//
// Sources: timm 1.0 timm/models/mobilenetv5.py; transformers models/gemma3n/modeling_gemma3n.py;
// llama.cpp conversion/gemma.py (Gemma3nVisionAudioModel), and tools/mtmd/clip.cpp for the norms of
// the convolutions before the conformer, at which that converter stops.
#include "models/towers/list.h"

namespace ckpt::towers {
namespace {

constexpr TowerPrefix kGemma3nPrefixes[] = {
    {"model.vision_tower.timm_model.", "tower."},
    {"model.embed_vision.", "projector."},
    {"model.audio_tower.conformer.", "conformer."},
    {"model.audio_tower.subsample_conv_projection.", "convolutions."},
    {"model.embed_audio.", "audio_projector."},
};
// clang-format off
constexpr TowerRule kMobileNetRows[] = {
    {"projector.embedding_projection", "mm.input_projection"},
    {"projector.{embedding,hard_embedding_norm,soft_embedding_norm}",
     "mm.{embedding,hard_emb_norm,soft_emb_norm}"},
    {"tower.conv_stem.{conv.weight,bn.weight}", "v.conv_stem.{conv.weight,bn.weight}", "", kWhole,
     {.store = kF32}},
    {"tower.conv_stem.conv.bias", "v.conv_stem.conv.bias", "", kWhole, {.change = kChannels}},
    {"tower.blocks.{}.{}.{conv_exp,bn1,conv_pwl,bn2,norm,layer_scale.gamma}",
     "v.blk.{}.{}.{conv_exp,bn1,conv_pwl,bn2,norm,layer_scale.gamma}"},
    {"tower.blocks.{}.{}.{dw_start,dw_mid,pw_exp,pw_proj}.conv",
     "v.blk.{}.{}.{dw_start,dw_mid,pw_exp,pw_proj}.conv"},
    {"tower.blocks.{}.{}.{dw_start,dw_mid,pw_exp,pw_proj}.bn",
     "v.blk.{}.{}.{dw_start,dw_mid,pw_exp,pw_proj}.bn"},
    {"tower.blocks.{}.{}.attn.{query,key,value,output}.proj",
     "v.blk.{}.{}.attn.{query,key,value,output}.proj"},
    {"tower.blocks.{}.{}.attn.{key.down_conv,value.down_conv,key.norm,value.norm}",
     "v.blk.{}.{}.attn.{key.down_conv,value.down_conv,key.norm,value.norm}"},
    {"tower.msfa.{ffn.pw_exp.conv,ffn.pw_exp.bn,ffn.pw_proj.conv,ffn.pw_proj.bn,norm}",
     "v.msfa.{ffn.pw_exp.conv,ffn.pw_exp.bn,ffn.pw_proj.conv,ffn.pw_proj.bn,norm}"},
};
constexpr TowerRule kSoundRows[] = {
    {"audio_projector.embedding_projection", "mm.a.input_projection"},
    {"audio_projector.{embedding,hard_embedding_norm,soft_embedding_norm}",
     "mm.a.{embedding,hard_emb_norm,soft_emb_norm}"},
    {"convolutions.input_proj_linear", "a.pre_encode.out", "", kWhole, {.store = kF16}},
    {"convolutions.conv_{}.conv", "a.conv1d.{}", "", kWhole, {.store = kF32}},
    {"convolutions.conv_{}.norm", "a.conv1d.{}.norm"},
    {"conformer.{}.attention.attn.{q,k,v}_proj", "a.blk.{}.attn_{q,k,v}"},
    {"conformer.{}.attention.attn.per_dim_scale", "a.blk.{}.per_dim_scale"},
    {"conformer.{}.attention.attn.relative_position_embedding.pos_proj", "a.blk.{}.linear_pos"},
    {"conformer.{}.attention.{pre_attn_norm,post,post_norm}", "a.blk.{}.{ln1,attn_out,ln2}"},
    {"conformer.{}.ffw_layer_start.{pre,post}_layer_norm", "a.blk.{}.ffn_{norm,post_norm}"},
    {"conformer.{}.ffw_layer_start.ffw_layer_{1,2}",       "a.blk.{}.ffn_{up,down}"},
    {"conformer.{}.ffw_layer_end.{pre,post}_layer_norm",   "a.blk.{}.ffn_{norm,post_norm}_1"},
    {"conformer.{}.ffw_layer_end.ffw_layer_{1,2}",         "a.blk.{}.ffn_{up,down}_1"},
    {"conformer.{}.lconv1d.{pre_layer_norm,conv_norm}",    "a.blk.{}.{conv_norm,norm_conv}"},
    {"conformer.{}.lconv1d.depthwise_conv1d", "a.blk.{}.conv_dw", "", kWhole, {.store = kF32}},
    {"conformer.{}.lconv1d.linear_{start,end}", "a.blk.{}.conv_{pw1,pw2}"},
    {"conformer.{}.norm", "a.blk.{}.layer_pre_norm"},
};
constexpr ClassDefault kGemma3nFields[] = {
    {"hidden_size", "2048"}, {"intermediate_size", "2048"}, {"num_attention_heads", "8"},
};
// clang-format on

}  // namespace

const TowerTable kGemma3nTower = {.kind = "gemma3n",
                                  .wrappers = {},  // the doctor has no shapes for them
                                  .prefixes = kGemma3nPrefixes,
                                  .rows = {kMobileNetRows, kSoundRows},
                                  .defaults = kGemma3nFields,
                                  .depth = {}};

}  // namespace ckpt::towers
