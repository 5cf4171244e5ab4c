// Gemma 4: a tower for images of any size, and in smaller models a conformer for sound.
//
// Source: llama.cpp conversion/gemma.py Gemma4VisionAudioModel; defaults: transformers
// models/gemma4/configuration_gemma4.py. Clipped linear layers are accompanied by four bounds each.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr std::string_view kGemma4AudioDefaults =
    R"({"hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8,
        "input_feat_size": 128, "layer_norm_eps": 1e-6})";

Status complete_gemma4(const Checkpoint&, ProjectorModel& model) {
  constexpr uint64_t kUnusedImageSize = 224;  // llama.cpp requires the key but does not use it
  constexpr uint64_t kWidening = 4;
  model.vision.json["image_size"] = kUnusedImageSize;
  if (!model.hears()) return {};
  CKPT_ASSIGN(const uint64_t width, model.audio.count("hidden_size"));
  model.audio.json["intermediate_size"] = width * kWidening;
  return {};
}

constexpr TowerKey kGemma4Keys[] = {kEpsilonKey};

Status add_gemma4_keys(const ProjectorModel& model, Metadata& metadata) {
  if (!model.hears()) return {};
  metadata.append("clip.audio.projector_type", MetaValue::text("gemma4a"));
  CKPT_ASSIGN(const uint64_t bins, model.audio.count("input_feat_size"));
  metadata.append("clip.audio.num_mel_bins", MetaValue::u32(bins));
  CKPT_ASSIGN(const double heard, model.audio.real("layer_norm_eps"));
  metadata.append("clip.audio.attention.layer_norm_epsilon", MetaValue::f32(heard));
  return {};
}

}  // namespace

const ProjectorFamily kGemma4Projector = {
    .name = "gemma4v",
    .architectures = "Gemma4ForConditionalGeneration",
    .tower = "gemma4",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .text_defaults = R"({"hidden_size": 2304})",
    .audio_defaults = kGemma4AudioDefaults,
    .complete = complete_gemma4,
    .keys = kGemma4Keys,
    .add_keys = add_gemma4_keys,
};

}  // namespace ckpt
