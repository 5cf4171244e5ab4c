// Towers of CLIP's and SigLIP's shape: of Gemma 3, LFM2-VL, SmolVLM and Idefics 3, PaddleOCR-VL,
// MiniCPM-V 4.6, Granite 4 Vision and MiniMax M3, each with a projector of its own.
//
// Sources: transformers models/{siglip,siglip2,gemma3,lfm2_vl,smolvlm,paddleocr_vl,minicpmv4_6,
// granite4_vision,minimax_m3_vl}/{modeling,configuration}_*.py; vLLM 0.17.1
// vllm/model_executor/models/siglip.py (what is split between devices); llama.cpp
// conversion/{gemma,lfm2,smolvlm,ernie,minicpm,granite,minimax}.py.
#include "models/towers/list.h"

namespace ckpt::towers {
namespace {

// clang-format off
constexpr TowerRule kClipLayers[] = {
    {"tower.encoder.layers.{}.layer_norm{1,2}", "v.blk.{}.ln{1,2}", "hidden_size, bias"},
    {"tower.encoder.layers.{}.mlp.fc1", "v.blk.{}.ffn_up", "intermediate_size hidden_size, bias",
     kRows},
    {"tower.encoder.layers.{}.mlp.fc2", "v.blk.{}.ffn_down", "hidden_size intermediate_size, bias",
     kColumns},
};
constexpr TowerRule kClipInputs[] = {
    {"tower.encoder.layers.{}.self_attn.{q,k,v}_proj", "v.blk.{}.attn_{q,k,v}",
     "hidden_size hidden_size, bias", kRows},
};
constexpr TowerRule kClipOutputs[] = {
    {"tower.encoder.layers.{}.self_attn.out_proj", "v.blk.{}.attn_out",
     "hidden_size hidden_size, bias", kColumns},
};
constexpr TowerRule kSiglipFrame[] = {
    {"tower.embeddings.position_embedding", "v.position_embd", "positions hidden_size",
     kRows, {.store = kF32}},
    {"tower.post_layernorm", "v.post_ln", "hidden_size, bias"},
};
constexpr TowerRule kPatchRows[] = {
    {"tower.embeddings.patch_embedding", "v.patch_embd",
     "hidden_size num_channels patch_size patch_size, bias", kWhole,
     {.store = kPatches}},
};
constexpr TowerRule kWidePatchRows[] = {
    {"tower.embeddings.patch_embedding", "v.patch_embd",
     "hidden_size num_channels patch_size patch_size, bias", kWhole, {.store = kF32}},
};
constexpr TowerRule kSiglipHead[] = {  // SigLIP's own pooling, which projectors leave out
    {"tower.head.{probe,attention.in_proj_weight,attention.in_proj_bias,attention.out_proj}", ""},
    {"tower.head.{layernorm,mlp.fc1,mlp.fc2}", ""},
};
constexpr ClassDefault kSiglipFields[] = {
    {"num_hidden_layers", "12"},   {"hidden_size", "768"},
    {"intermediate_size", "3072"}, {"num_channels", "3"},
    {"patch_size", "16"},          {"image_size", "224"}, {"num_attention_heads", "12"},
    {"positions", "image_size/patch_size*image_size/patch_size"},
};

constexpr TowerPrefix kGemma3Prefixes[] = {
    {"vision_tower.vision_model.", "tower."}, {"vision_tower.", "tower."},
    {"multi_modal_projector.", "projector."}, {"model.vision_tower.vision_model.", "tower."},
    {"model.vision_tower.", "tower."},        {"model.multi_modal_projector.", "projector."},
};
constexpr TowerRule kGemma3Rows[] = {
    {"projector.mm_input_projection_weight", "mm.input_projection.weight",
     "hidden_size text.hidden_size, bare", kWhole, {.store = kF16}},
    {"projector.mm_input_projection.weight", "mm.input_projection.weight", "", kWhole,
     {.store = kF16}},
    {"projector.mm_soft_emb_norm", "mm.soft_emb_norm", "hidden_size", kWhole, {kAddOne}},
};

constexpr TowerPrefix kLfm2VlPrefixes[] = {
    {"model.vision_tower.vision_model.", "tower."}, {"model.vision_tower.", "tower."},
    {"model.multi_modal_projector.", "projector."}, {"vision_tower.vision_model.", "tower."},
    {"multi_modal_projector.", "projector."},
};
constexpr TowerRule kLfm2VlRows[] = {
    {"tower.embeddings.patch_embedding.weight", "v.patch_embd.weight",
     "hidden_size num_channels*patch_size*patch_size", kWhole,
     {.change = kPixels, .store = kPatches}},
    {"tower.embeddings.patch_embedding.bias", "v.patch_embd.bias", "hidden_size"},
    {"projector.layer_norm", "mm.input_norm", "joined, bias if:wrapper.projector_use_layernorm"},
    {"projector.linear_1", "mm.1",
     "wrapper.projector_hidden_size joined, bias:wrapper.projector_bias", kRows},
    {"projector.linear_2", "mm.2",
     "text.hidden_size wrapper.projector_hidden_size, bias:wrapper.projector_bias",
     kColumns},
};
constexpr ClassDefault kLfm2VlFields[] = {
    kSiglipFields[0], kSiglipFields[1], kSiglipFields[2], kSiglipFields[3], kSiglipFields[4],
    kSiglipFields[6], {"num_patches", "256"}, {"positions", "num_patches"},
    {"wrapper.projector_hidden_size", "2560"}, {"wrapper.projector_bias", "1"},
    {"wrapper.projector_use_layernorm", "1"}, {"wrapper.downsample_factor", "2"},
    {"joined", "hidden_size*wrapper.downsample_factor*wrapper.downsample_factor"},
};

constexpr TowerPrefix kSmolVlmPrefixes[] = {{"model.vision_model.", "tower."},
                                            {"model.connector.", "connector."}};
constexpr TowerRule kSmolVlmRows[] = {
    {"connector.modality_projection.proj", "mm.model.fc",
     "text.hidden_size hidden_size*wrapper.scale_factor*wrapper.scale_factor"},
};
constexpr ClassDefault kSmolVlmFields[] = {
    kSiglipFields[0], {"hidden_size", "1152"}, kSiglipFields[2], kSiglipFields[3],
    {"patch_size", "32"}, kSiglipFields[5], {"num_attention_heads", "16"}, kSiglipFields[7],
    {"wrapper.scale_factor", "2"},
};

constexpr TowerPrefix kPaddleOcrPrefixes[] = {
    {"visual.vision_model.", "tower."}, {"mlp_AR.", "projector."},
    {"model.visual.vision_model.", "tower."}, {"model.projector.", "projector."},
};
constexpr TowerRule kPaddleOcrRows[] = {
    {"tower.embeddings.packing_position_embedding", ""},  // of training
    {"projector.pre_norm", "mm.input_norm", "hidden_size, bias"},
    {"projector.linear_1", "mm.1", "merged merged, bias", kRows},
    {"projector.linear_2", "mm.2", "text.hidden_size merged, bias", kColumns},
};
constexpr ClassDefault kPaddleOcrFields[] = {
    {"num_hidden_layers", "27"}, {"hidden_size", "1152"}, {"intermediate_size", "4304"},
    {"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "384"},
    {"num_attention_heads", "16"}, {"spatial_merge_size", "2"}, kSiglipFields[7],
    {"merged", "hidden_size*spatial_merge_size*spatial_merge_size"},
};

constexpr TowerPrefix kMiniCpmPrefixes[] = {
    {"model.vision_tower.vit_merger.", "merger."},
    {"model.vision_tower.", "tower."},
    {"model.merger.mlp.0.", "projector."},
};
constexpr TowerRule kMiniCpmRows[] = {
    {"merger.layer_norm1", "v.vit_merger.ln1", "hidden_size, bias"},
    {"merger.self_attn.{q,k,v}_proj", "v.vit_merger.attn_{q,k,v}",
     "hidden_size hidden_size, bias", kRows},
    {"merger.self_attn.out_proj", "v.vit_merger.attn_out", "hidden_size hidden_size, bias",
     kColumns},
    {"merger.pre_norm",    "v.vit_merger.ds_ln", "?, bias"},
    {"merger.linear_1",    "v.vit_merger.ds_ffn_up", "?, bias"},
    {"merger.linear_2",    "v.vit_merger.ds_ffn_down", "?, bias"},
    {"projector.pre_norm", "mm.input_norm", "4*hidden_size, bias"},
    {"projector.linear_1", "mm.up", "4*hidden_size 4*hidden_size, bias", kRows},
    {"projector.linear_2", "mm.down", "text.hidden_size 4*hidden_size, bias",
     kColumns},
};

// A transformer with queries for each layer of the language model that sees the image.
constexpr TowerPrefix kGranitePrefixes[] = {
    {"model.vision_tower.vision_model.", "tower."},
    {"model.vision_tower.", "tower."},
    {"model.layerwise_projectors.", "layerwise."},
    {"model.spatial_projectors.", "spatial."},
    {"model.image_newline", "newline"},
};
#define CKPT_QUERIES(known, CHANGE, EACH)                                                        \
  {known ".{}.{norm,qformer.layernorm}", "v.proj_blk.{}.{norm,post_norm}",                       \
   "hidden_size, bias " EACH, kWhole, {CHANGE}},                                      \
  {known ".{}.{image_positions,query}", "v.proj_blk.{}.{img_pos,query}", "?, bare " EACH,        \
   kWhole, {CHANGE}},                                                                 \
  {known ".{}.out_linear", "v.proj_blk.{}.linear", "text.hidden_size hidden_size, bias " EACH,   \
   kWhole, {CHANGE}},                                                                 \
  {known ".{}.attention.attention.{query,key,value}", "v.proj_blk.{}.self_attn_{q,k,v}",         \
   "hidden_size hidden_size, bias " EACH, kWhole, {CHANGE}},                          \
  {known ".{}.crossattention.attention.{query,key,value}", "v.proj_blk.{}.cross_attn_{q,k,v}",   \
   "hidden_size hidden_size, bias " EACH, kWhole, {CHANGE}},                          \
  {known ".{}.{attention,crossattention}.output.dense",                                          \
   "v.proj_blk.{}.{self_attn,cross_attn}_out", "hidden_size hidden_size, bias " EACH,            \
   kWhole, {CHANGE}},                                                                 \
  {known ".{}.{attention.output,crossattention.output,output_query}.LayerNorm",                  \
   "v.proj_blk.{}.{self_attn,cross_attn,ffn}_norm", "hidden_size, bias " EACH,                   \
   kWhole, {CHANGE}},                                                                 \
  {known ".{}.intermediate_query.dense", "v.proj_blk.{}.ffn_up",                                 \
   "wrapper.qformer_config.intermediate_size hidden_size, bias " EACH, kWhole, {CHANGE}},        \
  {known ".{}.output_query.dense", "v.proj_blk.{}.ffn_down",                                     \
   "hidden_size wrapper.qformer_config.intermediate_size, bias " EACH, kWhole, {CHANGE}}
constexpr TowerRule kGraniteRows[] = {
    {"newline", "v.image_newline", "text.hidden_size, bare"},
    CKPT_QUERIES("layerwise", kDeepstack, "each:wrapper.deepstack_layer_map"),
    CKPT_QUERIES("spatial", kSpatial,
                 "if:wrapper.use_spatial_sampling each:wrapper.spatial_target_layers"),
};
#undef CKPT_QUERIES
constexpr ClassDefault kGraniteFields[] = {
    kSiglipFields[0], kSiglipFields[1], kSiglipFields[2], kSiglipFields[3], kSiglipFields[4],
    kSiglipFields[5], kSiglipFields[6], kSiglipFields[7],
    {"wrapper.use_spatial_sampling", "0"}, {"wrapper.spatial_target_layers", "4"},
    {"wrapper.qformer_config.intermediate_size", "3072"},
};

constexpr TowerPrefix kMiniMaxPrefixes[] = {
    {"vision_tower.vision_model.", "tower."},
    {"multi_modal_projector.", "projector."},
    {"patch_merge_mlp.", "merger."},
};
constexpr TowerRule kMiniMaxRows[] = {
    {"tower.embeddings.patch_embedding.weight", "v.patch_embd.weight",
     "hidden_size num_channels temporal_patch_size patch_size patch_size", kWhole,
     {.change = kFrames, .store = kPatches, .second = "v.patch_embd.weight.1"}},
    {"tower.pre_layrnorm", "v.pre_ln", "hidden_size, bias"},
    {"tower.encoder.layers.{}.self_attn.{q,k}_proj", "v.blk.{}.attn_{q,k}",
     "hidden_size hidden_size, bias", kRows, {kAxes}},
    {"tower.encoder.layers.{}.self_attn.v_proj", "v.blk.{}.attn_v",
     "hidden_size hidden_size, bias", kRows},
    {"projector.linear_1", "mm.1", "wrapper.projector_hidden_size hidden_size, bias"},
    {"projector.linear_2", "mm.2", "text.hidden_size wrapper.projector_hidden_size, bias"},
    {"merger.linear_{1,2}", "mm.merger.fc{1,2}", "?, bias"},
};
constexpr ClassDefault kMiniMaxFields[] = {
    {"num_hidden_layers", "32"}, {"hidden_size", "1280"}, {"intermediate_size", "5120"},
    {"num_channels", "3"}, {"patch_size", "14"}, {"image_size", "2016"},
    {"num_attention_heads", "16"}, {"temporal_patch_size", "2"},
    {"wrapper.projector_hidden_size", "6144"},
};
// clang-format on

}  // namespace

const TowerTable kGemma3Tower = {.kind = "siglip",
                                 .wrappers = "gemma3",
                                 .prefixes = kGemma3Prefixes,
                                 .rows = {kWidePatchRows, kSiglipFrame, kClipLayers, kClipInputs,
                                          kClipOutputs, kGemma3Rows, kSiglipHead},
                                 .defaults = kSiglipFields};
const TowerTable kLfm2VlTower = {
    .kind = "lfm2_vl",
    .wrappers = "lfm2_vl",
    .prefixes = kLfm2VlPrefixes,
    .rows = {kLfm2VlRows, kSiglipFrame, kClipLayers, kClipInputs, kClipOutputs, kSiglipHead},
    .defaults = kLfm2VlFields};
const TowerTable kSmolVlmTower = {
    .kind = "connected",
    .wrappers = "smolvlm idefics3",
    .prefixes = kSmolVlmPrefixes,
    .rows = {kWidePatchRows, kSiglipFrame, kClipLayers, kClipInputs, kClipOutputs, kSmolVlmRows},
    .defaults = kSmolVlmFields};
const TowerTable kPaddleOcrTower = {.kind = "paddleocr_vl",
                                    .wrappers = "paddleocr_vl",
                                    .prefixes = kPaddleOcrPrefixes,
                                    .rows = {kPatchRows, kSiglipFrame, kClipLayers, kClipInputs,
                                             kClipOutputs, kPaddleOcrRows, kSiglipHead},
                                    .defaults = kPaddleOcrFields};
const TowerTable kMiniCpmV46Tower = {
    .kind = "minicpmv4_6",
    .wrappers = "minicpmv4_6",
    .prefixes = kMiniCpmPrefixes,
    .rows = {kPatchRows, kSiglipFrame, kClipLayers, kClipInputs, kClipOutputs, kMiniCpmRows},
    .defaults = kSiglipFields};
const TowerTable kGranite4VisionTower = {
    .kind = "granite4_vision",
    .wrappers = "granite4_vision",
    .prefixes = kGranitePrefixes,
    .rows = {kGraniteRows, kPatchRows, kSiglipFrame, kClipLayers, kClipInputs, kClipOutputs,
             kSiglipHead},
    .defaults = kGraniteFields,
    .mid = ".qformer.encoder.layer.0"};
const TowerTable kMiniMaxM3Tower = {.kind = "minimax_m3",
                                    .wrappers = "minimax_m3_vl",
                                    .prefixes = kMiniMaxPrefixes,
                                    .rows = {kMiniMaxRows, kClipLayers, kClipOutputs},
                                    .defaults = kMiniMaxFields};

}  // namespace ckpt::towers
