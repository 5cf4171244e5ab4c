// The tower of Pixtral, in Mistral 3 and in Pixtral 12B (whose class is that of LLaVA), and the
// tower of Llama 4.
//
// Sources: transformers models/{pixtral,mistral3,llava,llama4}/{modeling,configuration}_*.py; vLLM
// 0.17.1 vllm/model_executor/models/{pixtral,mistral3,mllama4}.py (what is split between devices);
// llama.cpp conversion/{llava,llama4}.py.
#include "models/towers/list.h"

namespace ckpt::towers {
namespace {

constexpr TowerPrefix kPixtralPrefixes[] = {
    {"vision_tower.", "tower."},
    {"multi_modal_projector.", "projector."},
    {"model.vision_tower.", "tower."},
    {"model.multi_modal_projector.", "projector."},
    {"model.embed_tokens.", "embed_tokens.", true},
};
// clang-format off
constexpr TowerRule kPixtralRows[] = {
    {"embed_tokens.weight", "v.token_embd.img_break", "", kWhole, {kImageBreak}},
    {"tower.patch_conv", "v.patch_embd", "hidden_size num_channels patch_size patch_size",
     kWhole, {.store = kPatches}},
    {"tower.ln_pre",     "v.pre_ln", "hidden_size"},
    {"tower.transformer.layers.{}.attention_norm", "v.blk.{}.ln1", "hidden_size"},
    {"tower.transformer.layers.{}.ffn_norm",       "v.blk.{}.ln2", "hidden_size"},
    {"tower.transformer.layers.{}.attention.{q,k}_proj", "v.blk.{}.attn_{q,k}",
     "hidden_size hidden_size", kRows, {kPairs}},
    {"tower.transformer.layers.{}.attention.v_proj", "v.blk.{}.attn_v", "hidden_size hidden_size",
     kRows},
    {"tower.transformer.layers.{}.attention.o_proj", "v.blk.{}.attn_out",
     "hidden_size hidden_size", kColumns},
    {"tower.transformer.layers.{}.feed_forward.{gate,up}_proj", "v.blk.{}.ffn_{gate,up}",
     "intermediate_size hidden_size", kRows},
    {"tower.transformer.layers.{}.feed_forward.down_proj", "v.blk.{}.ffn_down",
     "hidden_size intermediate_size", kColumns},
    {"projector.linear_1", "mm.1",
     "text.hidden_size hidden_size, bias:wrapper.multimodal_projector_bias", kRows},
    {"projector.linear_2", "mm.2",
     "text.hidden_size text.hidden_size, bias:wrapper.multimodal_projector_bias",
     kColumns},
};
constexpr TowerRule kMistral3Rows[] = {
    {"projector.norm", "mm.input_norm", "hidden_size"},
    {"projector.patch_merger.merging_layer", "mm.patch_merger",
     "hidden_size hidden_size*wrapper.spatial_merge_size*wrapper.spatial_merge_size",
     kWhole, {.store = kPatches}},
};
constexpr TowerRule kLlavaRows[] = {  // other spellings that llama.cpp's converter takes
    {"projector.linear_{}",                  "mm.{}"},
    {"projector.{norm,layer_norm,pre_norm}", "mm.{input_norm,input_norm,input_norm}"},
    {"projector.patch_merger.merging_layer", "mm.patch_merger", "", kWhole,
     {.store = kPatches}},
};
constexpr ClassDefault kMistral3Fields[] = {
    {"num_hidden_layers", "24"},   {"hidden_size", "1024"},
    {"intermediate_size", "4096"}, {"num_channels", "3"},
    {"patch_size", "16"},          {"num_attention_heads", "16"},
    {"wrapper.spatial_merge_size", "2"}, {"wrapper.multimodal_projector_bias", "0"},
};
constexpr ClassDefault kLlavaFields[] = {
    kMistral3Fields[0], kMistral3Fields[1], kMistral3Fields[2], kMistral3Fields[3],
    kMistral3Fields[4], kMistral3Fields[5], {"wrapper.multimodal_projector_bias", "1"},
};

constexpr TowerPrefix kLlama4Prefixes[] = {
    {"vision_model.", "tower."},
    {"multi_modal_projector.", "projector."},
};
constexpr TowerRule kLlama4Rows[] = {
    {"tower.class_embedding", "v.class_embd", "hidden_size, bare"},
    {"tower.positional_embedding_vlm", "v.position_embd.weight",
     "image_size/patch_size*image_size/patch_size+1 hidden_size, bare", kWhole,
     {.store = kF32}},
    {"tower.positional_embedding_vlm.weight", "v.position_embd.weight", "", kWhole,
     {.store = kF32}},
    {"tower.layernorm_{pre,post}", "v.{pre,post}_ln", "hidden_size, bias"},
    {"tower.patch_embedding.linear", "v.patch_embd",
     "hidden_size num_channels*patch_size*patch_size", kRows, {.store = kPatches}},
    {"tower.model.layers.{}.input_layernorm",          "v.blk.{}.ln1", "hidden_size, bias"},
    {"tower.model.layers.{}.post_attention_layernorm", "v.blk.{}.attn_post_norm",
     "hidden_size, bias"},
    {"tower.model.layers.{}.self_attn.{q,k,v}_proj",   "v.blk.{}.attn_{q,k,v}",
     "hidden_size hidden_size, bias", kRows},
    {"tower.model.layers.{}.self_attn.o_proj",         "v.blk.{}.attn_out",
     "hidden_size hidden_size, bias", kColumns},
    {"tower.model.layers.{}.mlp.fc1", "v.blk.{}.ffn_up", "intermediate_size hidden_size, bias",
     kRows},
    {"tower.model.layers.{}.mlp.fc2", "v.blk.{}.ffn_down", "hidden_size intermediate_size, bias",
     kColumns},
    {"tower.vision_adapter.mlp.fc1", "mm.model.mlp.1", "projector_input_dim intermediate_size",
     kRows},
    {"tower.vision_adapter.mlp.fc2", "mm.model.mlp.2", "projector_output_dim projector_output_dim",
     kColumns},
    {"projector.linear_1.weight", "mm.model.fc.weight", "text.hidden_size vision_output_dim",
     kRows},
};
constexpr ClassDefault kLlama4Fields[] = {
    {"num_hidden_layers", "34"},   {"hidden_size", "768"},
    {"intermediate_size", "5632"}, {"num_channels", "3"},
    {"patch_size", "14"},          {"image_size", "448"}, {"num_attention_heads", "16"},
    {"vision_output_dim", "7680"}, {"projector_input_dim", "4096"},
    {"projector_output_dim", "4096"},
};
// clang-format on

}  // namespace

const TowerTable kMistral3Tower = {.kind = "pixtral",
                                   .wrappers = "mistral3",
                                   .prefixes = kPixtralPrefixes,
                                   .rows = {kPixtralRows, kMistral3Rows},
                                   .defaults = kMistral3Fields};
const TowerTable kLlavaTower = {.kind = "pixtral12b",
                                .wrappers = "llava",
                                .prefixes = kPixtralPrefixes,
                                .rows = {kPixtralRows, kLlavaRows},
                                .defaults = kLlavaFields,
                                .type = "pixtral"};
const TowerTable kLlama4Tower = {.kind = "shuffled",
                                 .wrappers = "llama4",
                                 .prefixes = kLlama4Prefixes,
                                 .rows = {kLlama4Rows},
                                 .defaults = kLlama4Fields};

}  // namespace ckpt::towers
