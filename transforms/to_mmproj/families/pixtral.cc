// Pixtral's tower: in Mistral 3 and its successors, and in Pixtral 12B, which is a LLaVA.
//
// Source: llama.cpp conversion/llava.py LlavaVisionModel; defaults: transformers
// models/pixtral/configuration_pixtral.py. Like the converter, this takes the embedding of
// [IMG_BREAK] only if the embedding's name lacks "language_model."; released folders have it.
#include "core/model/json_documents.h"
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

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
    .tower = "pixtral",
    .vision_defaults = kMistral3VisionDefaults,
    .root_defaults = R"({"spatial_merge_size": 2})",
    .text_defaults = kMistralTextDefaults,
    .complete = complete_pixtral,
    .keys = kPixtralKeys,
};

const ProjectorFamily kLlavaProjector = {
    .name = "pixtral",
    .architectures = "LlavaForConditionalGeneration",
    .tower = "pixtral12b",
    .vision_defaults = kLlavaVisionDefaults,
    .text_defaults = kMistralTextDefaults,
    .complete = complete_pixtral,
    .keys = kPixtralKeys,
};

}  // namespace ckpt
