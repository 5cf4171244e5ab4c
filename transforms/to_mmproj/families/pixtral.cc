// Pixtral's tower: in Mistral 3 and its successors, and in Pixtral 12B, which is a LLaVA.
//
// Source: llama.cpp conversion/llava.py LlavaVisionModel; defaults: transformers
// models/pixtral/configuration_pixtral.py. Like the converter, this takes the embedding of
// [IMG_BREAK] only if the embedding's name lacks "language_model."; released folders have it.
#include "core/model/json_documents.h"
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerPrefix kPixtralPrefixes[] = {
    {"vision_tower.", "tower."},
    {"multi_modal_projector.", "projector."},
    {"model.vision_tower.", "tower."},
    {"model.multi_modal_projector.", "projector."},
    {"model.embed_tokens.", "embed_tokens."},
};

// clang-format off
constexpr TowerRule kPixtralTower[] = {
    {"embed_tokens.weight",      "v.token_embd.img_break", TowerChange::kImageBreak},
    {"projector.linear_{}",      "mm.{}"},
    {"projector.norm",           "mm.input_norm"},
    {"projector.layer_norm",     "mm.input_norm"},
    {"projector.pre_norm",       "mm.input_norm"},
    {"projector.patch_merger.merging_layer", "mm.patch_merger",
     TowerChange::kNone, TowerStore::kPatches},
    {"tower.patch_conv",         "v.patch_embd", TowerChange::kNone, TowerStore::kPatches},
    {"tower.ln_pre",             "v.pre_ln"},
    {"tower.transformer.layers.{}.attention_norm",         "v.blk.{}.ln1"},
    {"tower.transformer.layers.{}.ffn_norm",               "v.blk.{}.ln2"},
    {"tower.transformer.layers.{}.attention.q_proj",       "v.blk.{}.attn_q", TowerChange::kPairs},
    {"tower.transformer.layers.{}.attention.k_proj",       "v.blk.{}.attn_k", TowerChange::kPairs},
    {"tower.transformer.layers.{}.attention.v_proj",       "v.blk.{}.attn_v"},
    {"tower.transformer.layers.{}.attention.o_proj",       "v.blk.{}.attn_out"},
    {"tower.transformer.layers.{}.feed_forward.gate_proj", "v.blk.{}.ffn_gate"},
    {"tower.transformer.layers.{}.feed_forward.up_proj",   "v.blk.{}.ffn_up"},
    {"tower.transformer.layers.{}.feed_forward.down_proj", "v.blk.{}.ffn_down"},
};
// clang-format on

// A Mistral 3 without model_type in vision_config has this tower, a LLaVA that of CLIP.
constexpr std::string_view kMistral3VisionDefaults =
    R"({"model_type": "pixtral", "image_size": 1024, "hidden_act": "gelu",
        "layer_norm_eps": 1e-5})";
constexpr std::string_view kLlavaVisionDefaults =
    R"({"model_type": "clip_vision_model", "image_size": 1024, "hidden_act": "gelu",
        "layer_norm_eps": 1e-5})";
constexpr std::string_view kMistralTextDefaults = R"({"hidden_size": 4096})";
constexpr std::string_view kBreakToken = "[IMG_BREAK]";

// The id of a token in added_tokens_decoder of tokenizer_config.json, which is sorted by id.
std::optional<uint64_t> token_of_decoder(const JsonValue& config) {
  for (const auto& [number, token] : object_in(config, "added_tokens_decoder").items()) {
    if (text_in(token, "content") == kBreakToken) return whole(json_scalar(number));
  }
  return std::nullopt;
}

Status complete_pixtral(const Checkpoint& checkpoint, ProjectorModel& model) {
  CKPT_ASSIGN(const std::string type, model.vision.word("model_type"));
  if (type != "pixtral") {
    return unsupported("{}: model_type is '{}'; of this architecture the tower 'pixtral' is known",
                       model.vision.where, type);
  }
  CKPT_ASSIGN(const auto config, read_object(checkpoint, "tokenizer_config.json"));
  if (config) model.break_token = token_of_decoder(*config);
  if (model.break_token) return {};
  CKPT_ASSIGN(const auto tokenizer, read_object(checkpoint, "tokenizer.json"));
  if (tokenizer) model.break_token = id_of_added(*tokenizer, kBreakToken);
  return {};
}

constexpr TowerKey kPixtralKeys[] = {
    kEpsilonKey,
    kActivationKey,
    {kMergeKey.key, MetaType::kU32, "spatial_merge_size", &ProjectorModel::root, true},
};

}  // namespace

const ProjectorFamily kMistral3Projector = {
    .name = "pixtral",
    .architectures = "Mistral3ForConditionalGeneration",
    .vision_defaults = kMistral3VisionDefaults,
    .tower = "pixtral",
    .root_defaults = R"({"spatial_merge_size": 2})",
    .text_defaults = kMistralTextDefaults,
    .prefixes = kPixtralPrefixes,
    .names = {kPixtralTower},
    .complete = complete_pixtral,
    .keys = kPixtralKeys,
};

const ProjectorFamily kLlavaProjector = {
    .name = "pixtral",
    .architectures = "LlavaForConditionalGeneration",
    .vision_defaults = kLlavaVisionDefaults,
    .tower = "pixtral",
    .text_defaults = kMistralTextDefaults,
    .prefixes = kPixtralPrefixes,
    .names = {kPixtralTower},
    .complete = complete_pixtral,
    .keys = kPixtralKeys,
};

}  // namespace ckpt
