// Towers of InternVL 2 to 3.5, with the names of OpenGVLab and with those of transformers, and of
// HunyuanOCR.
//
// Sources: transformers models/{internvl,hunyuan_vl}/{modeling,configuration}_*.py; OpenGVLab's
// modeling_intern_vit.py; llama.cpp conversion/{internvl,hunyuan}.py.
#include "models/towers/list.h"

namespace ckpt::towers {
namespace {

constexpr TowerPrefix kInternVlPrefixes[] = {{"vision_model.", "tower."},
                                             {"mlp1.", "mlp."},
                                             {"model.vision_tower.encoder.layer.", "layer."},
                                             {"model.vision_tower.", "tower."},
                                             {"model.multi_modal_projector.", "projector."}};
// clang-format off
constexpr TowerRule kInternVlRows[] = {
    {"tower.embeddings.{class_embedding,cls_token}", "v.{class_embd,class_embd}"},
    {"tower.embeddings.mask_token", ""},  // of training
    {"tower.embeddings.{patch_embedding,patch_embeddings.projection}",
     "v.{patch_embd,patch_embd}", "", kWhole, {.store = kPatches}},
    {"tower.embeddings.position_{embedding,embeddings}",
     "v.position_{embd,embd}.weight", "", kWhole, {.store = kF32}},
    {"tower.encoder.layers.{}.norm{1,2}",        "v.blk.{}.ln{1,2}"},
    {"tower.encoder.layers.{}.ls{1,2}",          "v.blk.{}.ls{1,2}.weight"},
    {"tower.encoder.layers.{}.attn.{q,k}_norm",  "v.blk.{}.attn_{q,k}_norm"},
    {"tower.encoder.layers.{}.attn.qkv",         "v.blk.{}.attn_q", "", kWhole,
     {.change = kThirds, .second = "v.blk.{}.attn_k v.blk.{}.attn_v"}},
    {"tower.encoder.layers.{}.attn.proj",        "v.blk.{}.attn_out"},
    {"tower.encoder.layers.{}.mlp.fc{1,2}",      "v.blk.{}.ffn_{up,down}"},
    {"mlp.{}",                                   "mm.model.mlp.{}"},
    {"layer.{}.layernorm_{before,after}",        "v.blk.{}.ln{1,2}"},
    {"layer.{}.lambda_{1,2}",                    "v.blk.{}.ls{1,2}.weight"},
    {"layer.{}.attention.{q,k}_norm",            "v.blk.{}.attn_{q,k}_norm"},
    {"layer.{}.attention.{q,k,v}_proj",          "v.blk.{}.attn_{q,k,v}"},
    {"layer.{}.attention.projection_layer",      "v.blk.{}.attn_out"},
    {"layer.{}.mlp.fc{1,2}",                     "v.blk.{}.ffn_{up,down}"},
    {"projector.{layer_norm,linear_1,linear_2}", "mm.model.mlp.{0,1,3}"},
};
constexpr ClassDefault kInternVlFields[] = {
    {"num_hidden_layers", "24"}, {"hidden_size", "1024"}, {"intermediate_size", "4096"},
    {"patch_size", "14"}, {"image_size", "448"}, {"num_attention_heads", "16"},
};

constexpr TowerPrefix kHunyuanPrefixes[] = {
    {"vit.perceive.", "perceive."}, {"vit.", "tower."},
    {"model.vit.perceive.", "perceive."}, {"model.vit.", "tower."},
};
constexpr TowerRule kHunyuanRows[] = {
    {"tower.embeddings.patch_embedding", "v.patch_embd",
     "hidden_size num_channels patch_size patch_size, bias", kWhole,
     {.store = kPatches}},
    {"tower.embeddings.position_embedding", "v.position_embd", "?", kWhole,
     {.change = kNextRows, .store = kF32}},
    {"tower.layers.{}.{input,post_attention}_layernorm", "v.blk.{}.ln{1,2}", "hidden_size, bias"},
    {"tower.layers.{}.mlp.dense_h_to_4h", "v.blk.{}.ffn_up",
     "intermediate_size hidden_size, bias", kRows},
    {"tower.layers.{}.mlp.dense_4h_to_h", "v.blk.{}.ffn_down",
     "hidden_size intermediate_size, bias", kColumns},
    {"tower.layers.{}.self_attn.{q,k,v}_proj", "v.blk.{}.attn_{q,k,v}",
     "hidden_size hidden_size, bias", kRows},
    {"tower.layers.{}.self_attn.o_proj", "v.blk.{}.attn_out", "hidden_size hidden_size, bias",
     kColumns},
    {"perceive.before_rms", "mm.pre_norm", "hidden_size"},
    {"perceive.after_rms",  "mm.post_norm", "text.hidden_size"},
    {"perceive.image_{begin,end}", "mm.image_{begin,end}", "text.hidden_size, bare"},
    {"perceive.image_newline", "v.image_newline", "4*hidden_size, bare"},
    {"perceive.image_sep",     "v.view_seperator", "text.hidden_size, bare"},
    {"perceive.mlp",           "mm.model.fc", "text.hidden_size 4*hidden_size, bias"},
    {"perceive.proj.0", "mm.0", "2*hidden_size hidden_size spatial_merge_size spatial_merge_size,"
     " bias", kWhole, {.store = kPatches}},
    {"perceive.proj.2", "mm.2", "4*hidden_size 2*hidden_size 1 1, bias", kWhole,
     {.store = kPatches}},
};
constexpr ClassDefault kHunyuanFields[] = {
    {"num_hidden_layers", "27"}, {"hidden_size", "1152"}, {"intermediate_size", "4304"},
    {"num_channels", "3"}, {"patch_size", "16"}, {"max_image_size", "2048"},
    {"num_attention_heads", "16"}, {"spatial_merge_size", "2"},
};
// clang-format on

}  // namespace

const TowerTable kInternVlTower = {.kind = "internvl",
                                   .wrappers = "internvl",
                                   .prefixes = kInternVlPrefixes,
                                   .rows = {kInternVlRows},
                                   .defaults = kInternVlFields};
const TowerTable kHunyuanVlTower = {.kind = "hunyuan_vl",
                                    .wrappers = "hunyuan_vl",
                                    .prefixes = kHunyuanPrefixes,
                                    .rows = {kHunyuanRows},
                                    .defaults = kHunyuanFields};

}  // namespace ckpt::towers
