// Towers of Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5.
//
// Sources: transformers models/{qwen2_vl,qwen2_5_vl,qwen3_vl}/{modeling,configuration}_*.py (names,
// shapes, defaults); vLLM 0.17.1 vllm/model_executor/models/{qwen2_vl,qwen2_5_vl,qwen3_vl}.py (what
// is split between devices); llama.cpp conversion/{qwenvl,qwen3vl}.py and
// gguf-py/gguf/tensor_mapping.py.
#include "models/towers/list.h"

namespace ckpt::towers {
namespace {

constexpr TowerPrefix kQwenPrefixes[] = {{"model.visual.", ""}, {"visual.", ""}};
// clang-format off
constexpr TowerRule kQwen3VlRows[] = {
    {"patch_embed.proj.bias",    "v.patch_embd.bias", "hidden_size"},
    {"pos_embed", "v.position_embd", "num_position_embeddings hidden_size", kWhole,
     {.store = kF32}},
    {"blocks.{}.norm{1,2}",       "v.blk.{}.ln{1,2}", "hidden_size, bias"},
    {"blocks.{}.attn.qkv",  "v.blk.{}.attn_qkv", "3*hidden_size hidden_size, bias", kRows},
    {"blocks.{}.attn.proj", "v.blk.{}.attn_out", "hidden_size hidden_size, bias",
     kColumns},
    {"blocks.{}.mlp.linear_fc1",  "v.blk.{}.ffn_up", "intermediate_size hidden_size, bias",
     kRows},
    {"blocks.{}.mlp.linear_fc2",  "v.blk.{}.ffn_down", "hidden_size intermediate_size, bias",
     kColumns},
    {"merger.norm",       "v.post_ln", "hidden_size, bias"},
    {"merger.linear_fc1", "mm.0", "merged merged, bias", kRows},
    {"merger.linear_fc2", "mm.2", "out_hidden_size merged, bias", kColumns},
};
constexpr TowerRule kQwen3VlMergers[] = {
    {"deepstack_merger_list.{}.norm", "v.deepstack.{}.norm",
     "merged, bias each:deepstack_visual_indexes", kWhole, {kDeepstack}},
    {"deepstack_merger_list.{}.linear_fc1", "v.deepstack.{}.fc1",
     "merged merged, bias each:deepstack_visual_indexes", kRows, {kDeepstack}},
    {"deepstack_merger_list.{}.linear_fc2", "v.deepstack.{}.fc2",
     "out_hidden_size merged, bias each:deepstack_visual_indexes", kColumns,
     {kDeepstack}},
};
constexpr ClassDefault kQwen3VlFields[] = {
    {"depth", "27"},              {"hidden_size", "1152"},
    {"intermediate_size", "4304"}, {"in_channels", "3"},
    {"patch_size", "16"},         {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "3584"},
    {"num_position_embeddings", "2304"}, {"num_heads", "16"},
    {"merged", "hidden_size*spatial_merge_size*spatial_merge_size"},
    {"deepstack_visual_indexes", "3"},  // only Qwen3-VL has it
};

// Both towers of Qwen2 know the width of a token as "tower_width", and that of their output as
// "tower_out".
constexpr TowerRule kQwen2VlRows[] = {
    {"patch_embed.proj.weight", "v.patch_embd.weight",
     "tower_width in_channels temporal_patch_size patch_size patch_size", kWhole,
     {.change = kFrames, .store = kPatches, .second = "v.patch_embd.weight.1"}},
    {"blocks.{}.attn.qkv",  "v.blk.{}.attn_q", "3*tower_width tower_width, bias", kRows,
     {.change = kThirds, .second = "v.blk.{}.attn_k v.blk.{}.attn_v"}},
    {"blocks.{}.attn.proj", "v.blk.{}.attn_out", "tower_width tower_width, bias",
     kColumns},
    {"merger.mlp.0", "mm.0", "merged merged, bias", kRows},
    {"merger.mlp.2", "mm.2", "tower_out merged, bias", kColumns},
};
constexpr TowerRule kPlainBlocks[] = {
    {"blocks.{}.norm{1,2}", "v.blk.{}.ln{1,2}", "embed_dim, bias"},
    {"blocks.{}.mlp.fc1",   "v.blk.{}.ffn_up", "embed_dim*mlp_ratio embed_dim, bias",
     kRows},
    {"blocks.{}.mlp.fc2",   "v.blk.{}.ffn_down", "embed_dim embed_dim*mlp_ratio, bias",
     kColumns},
    {"merger.ln_q",         "v.post_ln", "embed_dim, bias"},
};
constexpr TowerRule kGatedBlocks[] = {
    {"blocks.{}.norm{1,2}", "v.blk.{}.ln{1,2}", "hidden_size"},
    {"blocks.{}.mlp.{gate,up}_proj", "v.blk.{}.ffn_{gate,up}",
     "intermediate_size hidden_size, bias", kRows},
    {"blocks.{}.mlp.down_proj", "v.blk.{}.ffn_down", "hidden_size intermediate_size, bias",
     kColumns},
    {"merger.ln_q",         "v.post_ln", "hidden_size"},
};
constexpr ClassDefault kQwen25VlFields[] = {
    {"depth", "32"},              {"hidden_size", "3584"},
    {"intermediate_size", "3420"}, {"in_channels", "3"},
    {"patch_size", "14"},         {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "3584"}, {"num_heads", "16"},
    {"tower_width", "hidden_size"}, {"tower_out", "out_hidden_size"},
    {"merged", "hidden_size*spatial_merge_size*spatial_merge_size"},
};
constexpr ClassDefault kQwen2VlFields[] = {
    {"depth", "32"},              {"embed_dim", "1280"},
    {"hidden_size", "3584"},      {"mlp_ratio", "4"},
    {"in_channels", "3"},         {"patch_size", "14"},
    {"spatial_merge_size", "2"},  {"temporal_patch_size", "2"}, {"num_heads", "16"},
    {"tower_width", "embed_dim"}, {"tower_out", "hidden_size"},
    {"merged", "embed_dim*spatial_merge_size*spatial_merge_size"},
};
// clang-format on

}  // namespace

const TowerTable kQwen2VlTower = {.kind = "resized",
                                  .wrappers = "qwen2_vl",
                                  .prefixes = kQwenPrefixes,
                                  .rows = {kQwen2VlRows, kPlainBlocks},
                                  .defaults = kQwen2VlFields,
                                  .depth = "depth",
                                  .heads = "num_heads"};
const TowerTable kQwen25VlTower = {.kind = "windowed",
                                   .wrappers = "qwen2_5_vl",
                                   .prefixes = kQwenPrefixes,
                                   .rows = {kQwen2VlRows, kGatedBlocks},
                                   .defaults = kQwen25VlFields,
                                   .depth = "depth",
                                   .heads = "num_heads"};
const TowerTable kQwen3VlTower = {.kind = "deepstack",
                                  .wrappers = "qwen3_vl qwen3_vl_moe",
                                  .prefixes = kQwenPrefixes,
                                  .rows = {kPatchesOfFrames, kQwen3VlRows, kQwen3VlMergers},
                                  .defaults = kQwen3VlFields,
                                  .depth = "depth",
                                  .heads = "num_heads"};
const TowerTable kQwen35Tower = {
    .kind = "merged",
    .wrappers = "qwen3_5 qwen3_5_moe qwen4_exp",
    .prefixes = kQwenPrefixes,
    .rows = {kPatchesOfFrames, kQwen3VlRows},
    .defaults = std::span(kQwen3VlFields).first(std::size(kQwen3VlFields) - 1),
    .depth = "depth",
    .heads = "num_heads"};

}  // namespace ckpt::towers
