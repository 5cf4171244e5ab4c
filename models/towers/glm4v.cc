// Towers of GLM-4.1V, GLM-4.5V and GLM-OCR: a convolution that joins patches, then a gated merger.
// GLM-OCR has norms of queries and keys, and no positions.
//
// Sources: transformers models/{glm4v,glm_ocr}/{modeling,configuration}_*.py; llama.cpp
// conversion/qwen3vl.py Glm4VVisionModel.
#include "models/towers/list.h"

namespace ckpt::towers {
namespace {

constexpr TowerPrefix kGlm4vPrefixes[] = {{"model.visual.", ""}, {"visual.", ""}};
// clang-format off
constexpr TowerRule kDownsampledRows[] = {
    {"patch_embed.proj.bias", "v.patch_embd.bias", "hidden_size"},
    {"blocks.{}.norm{1,2}",   "v.blk.{}.ln{1,2}", "hidden_size"},
    {"blocks.{}.attn.qkv",    "v.blk.{}.attn_qkv",
     "3*hidden_size hidden_size, bias:attention_bias", kRows},
    {"post_layernorm",        "v.post_ln", "hidden_size"},
    {"downsample",            "mm.patch_merger",
     "out_hidden_size hidden_size spatial_merge_size spatial_merge_size, bias", kWhole,
     {.store = kPatches}},
    {"merger.proj",           "mm.model.fc", "out_hidden_size out_hidden_size"},
    {"merger.post_projection_norm", "mm.post_norm", "out_hidden_size, bias"},
};
constexpr TowerRule kGlm4vRows[] = {
    {"embeddings.position_embedding", "v.position_embd",
     "image_size/patch_size*image_size/patch_size hidden_size", kWhole, {.store = kF32}},
    {"post_conv_layernorm", "v.norm_embd", "hidden_size"},
    {"blocks.{}.attn.proj", "v.blk.{}.attn_out", "hidden_size hidden_size", kColumns},
    {"blocks.{}.mlp.{gate,up}_proj", "v.blk.{}.ffn_{gate,up}", "out_hidden_size hidden_size",
     kRows},
    {"blocks.{}.mlp.down_proj", "v.blk.{}.ffn_down", "hidden_size out_hidden_size",
     kColumns},
    {"merger.{gate,up}_proj",   "mm.{gate,up}", "intermediate_size out_hidden_size",
     kRows},
    {"merger.down_proj",        "mm.down", "out_hidden_size intermediate_size",
     kColumns},
};
constexpr TowerRule kGlmOcrRows[] = {
    {"blocks.{}.attn.{q,k}_norm", "v.blk.{}.attn_{q,k}_norm", "hidden_size/num_heads"},
    {"blocks.{}.attn.proj", "v.blk.{}.attn_out", "hidden_size hidden_size, bias:attention_bias",
     kColumns},
    {"blocks.{}.mlp.{gate,up}_proj", "v.blk.{}.ffn_{gate,up}",
     "intermediate_size hidden_size, bias:attention_bias", kRows},
    {"blocks.{}.mlp.down_proj", "v.blk.{}.ffn_down",
     "hidden_size intermediate_size, bias:attention_bias", kColumns},
    {"merger.{gate,up}_proj",   "mm.{gate,up}", "out_hidden_size*in_channels out_hidden_size",
     kRows},
    {"merger.down_proj",        "mm.down", "out_hidden_size out_hidden_size*in_channels",
     kColumns},
};
constexpr ClassDefault kGlm4vFields[] = {
    {"depth", "24"},         {"hidden_size", "1536"},
    {"intermediate_size", "13696"}, {"in_channels", "3"},
    {"patch_size", "14"},    {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "4096"},
    {"num_heads", "12"},     {"image_size", "336"}, {"attention_bias", "0"},
};
constexpr ClassDefault kGlmOcrFields[] = {
    {"depth", "24"},         {"hidden_size", "1024"},
    {"intermediate_size", "4096"}, {"in_channels", "3"},
    {"patch_size", "14"},    {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "1536"},
    {"num_heads", "16"},     {"image_size", "336"}, {"attention_bias", "1"},
};
// clang-format on

}  // namespace

const TowerTable kGlm4vTower = {.kind = "downsampled",
                                .wrappers = "glm4v glm4v_moe",
                                .prefixes = kGlm4vPrefixes,
                                .rows = {kPatchesOfFrames, kDownsampledRows, kGlm4vRows},
                                .defaults = kGlm4vFields,
                                .depth = "depth",
                                .heads = "num_heads"};
const TowerTable kGlmOcrTower = {.kind = "normed",
                                 .wrappers = "glm_ocr",
                                 .prefixes = kGlm4vPrefixes,
                                 .rows = {kPatchesOfFrames, kDownsampledRows, kGlmOcrRows},
                                 .defaults = kGlmOcrFields,
                                 .depth = "depth",
                                 .heads = "num_heads"};

}  // namespace ckpt::towers
