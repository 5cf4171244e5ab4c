// The towers of vision models, with the projector between a tower and its text model.
//
// Sources: transformers
// models/{qwen2_vl,qwen2_5_vl,qwen3_vl,glm4v,glm_ocr,pixtral,mistral3,siglip,gemma3,llama4}/
// {modeling,configuration}_*.py (names, shapes, defaults); vLLM 0.17.1
// vllm/model_executor/models/{qwen2_vl,qwen2_5_vl,qwen3_vl,pixtral,mistral3,siglip,mllama4}.py
// (what is split between devices).
#include "core/base/find.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

// clang-format off
constexpr ParameterRule kQwen3VlBlocks[] = {
    {"model.visual.patch_embed.proj.weight",
     "hidden_size in_channels temporal_patch_size patch_size patch_size"},
    {"model.visual.patch_embed.proj.bias", "hidden_size"},
    {"model.visual.pos_embed.weight", "num_position_embeddings hidden_size"},
    {"model.visual.merger.norm.{weight,bias}", "hidden_size"},
    {"model.visual.merger.linear_fc1.weight",
     "hidden_size*spatial_merge_size*spatial_merge_size"
     " hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kRows},
    {"model.visual.merger.linear_fc1.bias", "hidden_size*spatial_merge_size*spatial_merge_size",
     ServerCut::kRows},
    {"model.visual.merger.linear_fc2.weight",
     "out_hidden_size hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kColumns},
    {"model.visual.merger.linear_fc2.bias", "out_hidden_size"},
    {".norm{1,2}.{weight,bias}", "hidden_size"},
    {".attn.qkv.weight",  "3*hidden_size hidden_size", ServerCut::kRows},
    {".attn.qkv.bias",    "3*hidden_size", ServerCut::kRows},
    {".attn.proj.weight", "hidden_size hidden_size", ServerCut::kColumns},
    {".attn.proj.bias",   "hidden_size"},
    {".mlp.linear_fc1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.linear_fc1.bias",   "intermediate_size", ServerCut::kRows},
    {".mlp.linear_fc2.weight", "hidden_size intermediate_size", ServerCut::kColumns},
    {".mlp.linear_fc2.bias",   "hidden_size"},
};
// Qwen3-VL has one such merger for each entry of deepstack_visual_indexes.
constexpr ParameterRule kQwen3VlMergers[] = {
    {"model.visual.deepstack_merger_list.{}.norm.{weight,bias}",
     "hidden_size*spatial_merge_size*spatial_merge_size"},
    {"model.visual.deepstack_merger_list.{}.linear_fc1.weight",
     "hidden_size*spatial_merge_size*spatial_merge_size"
     " hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kRows},
    {"model.visual.deepstack_merger_list.{}.linear_fc1.bias",
     "hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kRows},
    {"model.visual.deepstack_merger_list.{}.linear_fc2.weight",
     "out_hidden_size hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kColumns},
    {"model.visual.deepstack_merger_list.{}.linear_fc2.bias", "out_hidden_size"},
};
constexpr ClassDefault kQwen3VlTowerFields[] = {
    {"depth", "27"},              {"hidden_size", "1152"},
    {"intermediate_size", "4304"}, {"in_channels", "3"},
    {"patch_size", "16"},         {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "3584"},
    {"num_position_embeddings", "2304"}, {"num_heads", "16"},
    {"deepstack_visual_indexes", "3"},  // only Qwen3-VL has it
};

constexpr ParameterRule kQwen25VlBlocks[] = {
    {"model.visual.patch_embed.proj.weight",
     "hidden_size in_channels temporal_patch_size patch_size patch_size"},
    {"model.visual.merger.ln_q.weight",  "hidden_size"},
    {"model.visual.merger.mlp.0.weight",
     "hidden_size*spatial_merge_size*spatial_merge_size"
     " hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kRows},
    {"model.visual.merger.mlp.0.bias", "hidden_size*spatial_merge_size*spatial_merge_size",
     ServerCut::kRows},
    {"model.visual.merger.mlp.2.weight",
     "out_hidden_size hidden_size*spatial_merge_size*spatial_merge_size", ServerCut::kColumns},
    {"model.visual.merger.mlp.2.bias", "out_hidden_size"},
    {".norm{1,2}.weight", "hidden_size"},
    {".attn.qkv.weight",  "3*hidden_size hidden_size", ServerCut::kRows},
    {".attn.qkv.bias",    "3*hidden_size", ServerCut::kRows},
    {".attn.proj.weight", "hidden_size hidden_size", ServerCut::kColumns},
    {".attn.proj.bias",   "hidden_size"},
    {".mlp.gate_proj.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.gate_proj.bias",   "intermediate_size", ServerCut::kRows},
    {".mlp.up_proj.weight",   "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.up_proj.bias",     "intermediate_size", ServerCut::kRows},
    {".mlp.down_proj.weight", "hidden_size intermediate_size", ServerCut::kColumns},
    {".mlp.down_proj.bias",   "hidden_size"},
};
constexpr ClassDefault kQwen25VlTowerFields[] = {
    {"depth", "32"},              {"hidden_size", "3584"},
    {"intermediate_size", "3420"}, {"in_channels", "3"},
    {"patch_size", "14"},         {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "3584"}, {"num_heads", "16"},
};

constexpr ParameterRule kQwen2VlBlocks[] = {
    {"model.visual.patch_embed.proj.weight",
     "embed_dim in_channels temporal_patch_size patch_size patch_size"},
    {"model.visual.merger.ln_q.{weight,bias}", "embed_dim"},
    {"model.visual.merger.mlp.0.weight",
     "embed_dim*spatial_merge_size*spatial_merge_size"
     " embed_dim*spatial_merge_size*spatial_merge_size", ServerCut::kRows},
    {"model.visual.merger.mlp.0.bias", "embed_dim*spatial_merge_size*spatial_merge_size",
     ServerCut::kRows},
    {"model.visual.merger.mlp.2.weight",
     "hidden_size embed_dim*spatial_merge_size*spatial_merge_size", ServerCut::kColumns},
    {"model.visual.merger.mlp.2.bias", "hidden_size"},
    {".norm{1,2}.{weight,bias}", "embed_dim"},
    {".attn.qkv.weight",  "3*embed_dim embed_dim", ServerCut::kRows},
    {".attn.qkv.bias",    "3*embed_dim", ServerCut::kRows},
    {".attn.proj.weight", "embed_dim embed_dim", ServerCut::kColumns},
    {".attn.proj.bias",   "embed_dim"},
    {".mlp.fc1.weight",   "embed_dim*mlp_ratio embed_dim", ServerCut::kRows},
    {".mlp.fc1.bias",     "embed_dim*mlp_ratio", ServerCut::kRows},
    {".mlp.fc2.weight",   "embed_dim embed_dim*mlp_ratio", ServerCut::kColumns},
    {".mlp.fc2.bias",     "embed_dim"},
};
constexpr ClassDefault kQwen2VlTowerFields[] = {
    {"depth", "32"},              {"embed_dim", "1280"},
    {"hidden_size", "3584"},      {"mlp_ratio", "4"},
    {"in_channels", "3"},         {"patch_size", "14"},
    {"spatial_merge_size", "2"},  {"temporal_patch_size", "2"}, {"num_heads", "16"},
};

constexpr ParameterRule kPixtralLayers[] = {
    {"vision_tower.patch_conv.weight", "hidden_size num_channels patch_size patch_size"},
    {"vision_tower.ln_pre.weight",     "hidden_size"},
    {".{attention,ffn}_norm.weight",   "hidden_size"},
    {".attention.{q,k,v}_proj.weight", "hidden_size hidden_size", ServerCut::kRows},
    {".attention.o_proj.weight",       "hidden_size hidden_size", ServerCut::kColumns},
    {".feed_forward.{gate,up}_proj.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".feed_forward.down_proj.weight", "hidden_size intermediate_size", ServerCut::kColumns},
};
constexpr ParameterRule kMistral3Projector[] = {
    {"multi_modal_projector.norm.weight", "hidden_size"},
    {"multi_modal_projector.patch_merger.merging_layer.weight",
     "hidden_size hidden_size*wrapper.spatial_merge_size*wrapper.spatial_merge_size"},
    {"multi_modal_projector.linear_1.weight", "text.hidden_size hidden_size", ServerCut::kRows},
    {"multi_modal_projector.linear_2.weight", "text.hidden_size text.hidden_size",
     ServerCut::kColumns},
    {"multi_modal_projector.linear_1.bias", "text.hidden_size", ServerCut::kRows,
     "wrapper.multimodal_projector_bias"},
    {"multi_modal_projector.linear_2.bias", "text.hidden_size", ServerCut::kWhole,
     "wrapper.multimodal_projector_bias"},
};
constexpr ClassDefault kMistral3TowerFields[] = {
    {"num_hidden_layers", "24"},   {"hidden_size", "1024"},
    {"intermediate_size", "4096"}, {"num_channels", "3"},
    {"patch_size", "16"},          {"num_attention_heads", "16"},
    {"wrapper.spatial_merge_size", "2"}, {"wrapper.multimodal_projector_bias", "0"},
};

constexpr ParameterRule kTowerMlp[] = {
    {".mlp.fc1.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.fc1.bias",   "intermediate_size", ServerCut::kRows},
    {".mlp.fc2.weight", "hidden_size intermediate_size", ServerCut::kColumns},
    {".mlp.fc2.bias",   "hidden_size"},
};
constexpr ParameterRule kSiglipLayers[] = {
    {"vision_tower.vision_model.embeddings.patch_embedding.weight",
     "hidden_size num_channels patch_size patch_size"},
    {"vision_tower.vision_model.embeddings.patch_embedding.bias", "hidden_size"},
    {"vision_tower.vision_model.embeddings.position_embedding.weight",
     "image_size/patch_size*image_size/patch_size hidden_size", ServerCut::kRows},
    {"vision_tower.vision_model.post_layernorm.{weight,bias}", "hidden_size"},
    {".layer_norm{1,2}.{weight,bias}", "hidden_size"},
    {".self_attn.{q,k,v}_proj.weight", "hidden_size hidden_size", ServerCut::kRows},
    {".self_attn.out_proj.weight",     "hidden_size hidden_size", ServerCut::kColumns},
    {".self_attn.{q,k,v}_proj.bias",   "hidden_size", ServerCut::kRows},
    {".self_attn.out_proj.bias",       "hidden_size"},
};
constexpr ParameterRule kGemma3Projector[] = {
    {"multi_modal_projector.mm_input_projection_weight", "hidden_size text.hidden_size"},
    {"multi_modal_projector.mm_soft_emb_norm.weight",    "hidden_size"},
};
constexpr ClassDefault kGemma3TowerFields[] = {
    {"num_hidden_layers", "12"},   {"hidden_size", "768"},
    {"intermediate_size", "3072"}, {"num_channels", "3"},
    {"patch_size", "16"},          {"image_size", "224"}, {"num_attention_heads", "12"},
};

constexpr ParameterRule kLlama4Tower[] = {
    {"vision_model.class_embedding", "hidden_size"},
    {"vision_model.positional_embedding_vlm",
     "image_size/patch_size*image_size/patch_size+1 hidden_size"},
    {"vision_model.layernorm_{pre,post}.{weight,bias}", "hidden_size"},
    {"vision_model.patch_embedding.linear.weight",
     "hidden_size num_channels*patch_size*patch_size", ServerCut::kRows},
    {"vision_model.vision_adapter.mlp.fc1.weight", "projector_input_dim intermediate_size",
     ServerCut::kRows},
    {"vision_model.vision_adapter.mlp.fc2.weight", "projector_output_dim projector_output_dim",
     ServerCut::kColumns},
    {"multi_modal_projector.linear_1.weight", "text.hidden_size vision_output_dim",
     ServerCut::kRows},
    {".{input,post_attention}_layernorm.{weight,bias}", "hidden_size"},
    {".self_attn.{q,k,v}_proj.weight", "hidden_size hidden_size", ServerCut::kRows},
    {".self_attn.o_proj.weight",       "hidden_size hidden_size", ServerCut::kColumns},
    {".self_attn.{q,k,v}_proj.bias",   "hidden_size", ServerCut::kRows},
    {".self_attn.o_proj.bias",         "hidden_size"},
};
constexpr ClassDefault kLlama4TowerFields[] = {
    {"num_hidden_layers", "34"},   {"hidden_size", "768"},
    {"intermediate_size", "5632"}, {"num_channels", "3"},
    {"patch_size", "14"},          {"image_size", "448"}, {"num_attention_heads", "16"},
    {"vision_output_dim", "7680"}, {"projector_input_dim", "4096"},
    {"projector_output_dim", "4096"},
};

// A convolution that joins patches, then a merger with a gate.
constexpr ParameterRule kDownsampledTower[] = {
    {"model.visual.patch_embed.proj.weight",
     "hidden_size in_channels temporal_patch_size patch_size patch_size"},
    {"model.visual.patch_embed.proj.bias", "hidden_size"},
    {"model.visual.downsample.weight",
     "out_hidden_size hidden_size spatial_merge_size spatial_merge_size"},
    {"model.visual.downsample.bias",       "out_hidden_size"},
    {"model.visual.post_layernorm.weight", "hidden_size"},
    {"model.visual.merger.proj.weight",    "out_hidden_size out_hidden_size"},
    {"model.visual.merger.post_projection_norm.{weight,bias}", "out_hidden_size"},
    {".norm{1,2}.weight", "hidden_size"},
    {".attn.qkv.weight",  "3*hidden_size hidden_size", ServerCut::kRows},
    {".attn.qkv.bias",    "3*hidden_size", ServerCut::kRows, "attention_bias"},
    {".attn.proj.weight", "hidden_size hidden_size", ServerCut::kColumns},
};
constexpr ParameterRule kGlm4vTower[] = {
    {"model.visual.embeddings.position_embedding.weight",
     "image_size/patch_size*image_size/patch_size hidden_size"},
    {"model.visual.post_conv_layernorm.weight", "hidden_size"},
    {"model.visual.merger.{gate,up}_proj.weight", "intermediate_size out_hidden_size",
     ServerCut::kRows},
    {"model.visual.merger.down_proj.weight", "out_hidden_size intermediate_size",
     ServerCut::kColumns},
    {".mlp.{gate,up}_proj.weight", "out_hidden_size hidden_size", ServerCut::kRows},
    {".mlp.down_proj.weight",      "hidden_size out_hidden_size", ServerCut::kColumns},
};
constexpr ParameterRule kGlmOcrTower[] = {
    {"model.visual.merger.{gate,up}_proj.weight", "out_hidden_size*in_channels out_hidden_size",
     ServerCut::kRows},
    {"model.visual.merger.down_proj.weight", "out_hidden_size out_hidden_size*in_channels",
     ServerCut::kColumns},
    {".attn.{q,k}_norm.weight", "hidden_size/num_heads"},
    {".attn.proj.bias",         "hidden_size", ServerCut::kWhole, "attention_bias"},
    {".mlp.{gate,up}_proj.bias", "intermediate_size", ServerCut::kRows, "attention_bias"},
    {".mlp.down_proj.bias",      "hidden_size", ServerCut::kWhole, "attention_bias"},
    {".mlp.{gate,up}_proj.weight", "intermediate_size hidden_size", ServerCut::kRows},
    {".mlp.down_proj.weight",      "hidden_size intermediate_size", ServerCut::kColumns},
};
constexpr ClassDefault kGlm4vTowerFields[] = {
    {"depth", "24"},         {"hidden_size", "1536"},
    {"intermediate_size", "13696"}, {"in_channels", "3"},
    {"patch_size", "14"},    {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "4096"},
    {"num_heads", "12"},     {"image_size", "336"}, {"attention_bias", "0"},
};
constexpr ClassDefault kGlmOcrTowerFields[] = {
    {"depth", "24"},         {"hidden_size", "1024"},
    {"intermediate_size", "4096"}, {"in_channels", "3"},
    {"patch_size", "14"},    {"spatial_merge_size", "2"},
    {"temporal_patch_size", "2"}, {"out_hidden_size", "1536"},
    {"num_heads", "16"},     {"image_size", "336"}, {"attention_bias", "1"},
};
// clang-format on

using ParameterRules = std::span<const ParameterRule>;
constexpr ParameterRules kQwen3VlLists[] = {kQwen3VlBlocks, kQwen3VlMergers};
constexpr ParameterRules kQwen25VlLists[] = {kQwen25VlBlocks};
constexpr ParameterRules kQwen2VlLists[] = {kQwen2VlBlocks};
constexpr ParameterRules kGlm4vLists[] = {kDownsampledTower, kGlm4vTower};
constexpr ParameterRules kGlmOcrLists[] = {kDownsampledTower, kGlmOcrTower};
constexpr ParameterRules kMistral3Lists[] = {kPixtralLayers, kMistral3Projector};
constexpr ParameterRules kGemma3TowerLists[] = {kSiglipLayers, kTowerMlp, kGemma3Projector};
constexpr ParameterRules kLlama4TowerLists[] = {kLlama4Tower, kTowerMlp};

constexpr TowerTable kTowers[] = {
    {"deepstack", "model.visual.blocks", "depth", "num_heads", kQwen3VlLists,
     kQwen3VlTowerFields},
    {"merged", "model.visual.blocks", "depth", "num_heads", std::span(kQwen3VlLists).first(1),
     std::span(kQwen3VlTowerFields).first(std::size(kQwen3VlTowerFields) - 1)},
    {"windowed", "model.visual.blocks", "depth", "num_heads", kQwen25VlLists, kQwen25VlTowerFields},
    {"resized", "model.visual.blocks", "depth", "num_heads", kQwen2VlLists, kQwen2VlTowerFields},
    {"downsampled", "model.visual.blocks", "depth", "num_heads", kGlm4vLists, kGlm4vTowerFields},
    {"normed", "model.visual.blocks", "depth", "num_heads", kGlmOcrLists, kGlmOcrTowerFields},
    {"pixtral", "vision_tower.transformer.layers", "num_hidden_layers", "num_attention_heads",
     kMistral3Lists, kMistral3TowerFields},
    {"siglip", "vision_tower.vision_model.encoder.layers", "num_hidden_layers",
     "num_attention_heads", kGemma3TowerLists, kGemma3TowerFields},
    {"shuffled", "vision_model.model.layers", "num_hidden_layers", "num_attention_heads",
     kLlama4TowerLists, kLlama4TowerFields},
};

// vision_config, with what shapes take from around it.
JsonValue fields_of(const JsonValue& wrapper, uint64_t hidden) {
  const JsonValue* vision = known(wrapper, "vision_config");
  JsonValue out = vision != nullptr && vision->is_object() ? *vision : JsonValue::object();
  out["text.hidden_size"] = hidden;
  for (const std::string_view field : {"spatial_merge_size", "multimodal_projector_bias"}) {
    const JsonValue* declared = known(wrapper, field);
    if (declared != nullptr) out[fmt::format("wrapper.{}", field)] = *declared;
  }
  const JsonValue* mergers = known(out, "deepstack_visual_indexes");
  if (mergers != nullptr && mergers->is_array()) {
    out["deepstack_visual_indexes"] = static_cast<uint64_t>(mergers->size());
  }
  return out;
}

// How often a rule's name is there.
Result<uint64_t> count_of(const TowerTable& tower, const Family& table, const JsonValue& fields,
                          std::string_view name) {
  const bool is_merger = name.find("{}") != name.npos;
  if (!is_merger && !name.starts_with('.')) return 1;
  const std::string_view field = is_merger ? "deepstack_visual_indexes" : tower.depth;
  CKPT_ASSIGN(const uint64_t count, number_of_fields(table, fields, field));
  if (count <= kMaxModelLayers) return count;
  return unsupported("config.json: vision_config.{} is {}; at most {}", field, count,
                     kMaxModelLayers);
}

Status add_rule(const TowerTable& tower, const JsonValue& fields, const ParameterRule& rule,
                std::vector<Parameter>& out) {
  const Family table{.defaults = tower.defaults};
  if (!rule.when.empty() && !is_truthy(known(fields, rule.when))) return {};
  CKPT_ASSIGN(const auto shape, numbers_of_fields(table, fields, rule.shape));
  for (const std::string& pattern : each_name(rule.name)) {
    CKPT_ASSIGN(const uint64_t count, count_of(tower, table, fields, pattern));
    const size_t blank = pattern.find("{}");
    for (uint64_t i = 0; i < count; ++i) {
      std::string name = pattern;
      if (blank != name.npos) name.replace(blank, 2, std::to_string(i));
      if (name.starts_with('.')) name = fmt::format("{}.{}{}", tower.layers, i, pattern);
      out.push_back({std::move(name), shape, rule.cut, ModelPart::kVision});
    }
  }
  return {};
}

}  // namespace

const TowerTable& tower_named(std::string_view kind) {
  const TowerTable* found = find_by(kTowers, &TowerTable::kind, kind);
  CKPT_CHECK(found != nullptr);
  return *found;
}

const TowerTable* tower_of(std::string_view wrapper_type) {
  const auto kinds = words_after(quirks_of(wrapper_type), "tower:");
  return kinds.empty() ? nullptr : &tower_named(kinds.front());
}

Result<std::vector<Parameter>> expected_tower(const TowerTable& tower, const JsonValue& wrapper,
                                              uint64_t hidden) {
  const JsonValue fields = fields_of(wrapper, hidden);
  std::vector<Parameter> out;
  for (const auto& list : tower.lists) {
    for (const ParameterRule& rule : list) CKPT_TRY(add_rule(tower, fields, rule, out));
  }
  return out;
}

}  // namespace ckpt
