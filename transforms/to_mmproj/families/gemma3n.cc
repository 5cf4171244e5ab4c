// Gemma 3n: MobileNet V5 for images of one size, and a conformer for sound.
//
// Source: llama.cpp conversion/gemma.py Gemma3nVisionAudioModel; defaults: transformers
// models/gemma3n/configuration_gemma3n.py.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

// The configuration does not tell the blocks of a MobileNet; the converter writes this count.
constexpr uint64_t kBlocksOfMobileNet = 128;

Status complete_gemma3n(const Checkpoint&, ProjectorModel& model) {
  constexpr uint64_t kImageSize = 768, kTokensOfImage = 256, kWidening = 4;
  JsonValue& vision = model.vision.json;
  CKPT_ASSIGN(const uint64_t inner, model.vision.count("intermediate_size"));
  vision["intermediate_size"] = inner * kWidening;
  vision["n_layers"] = kBlocksOfMobileNet;

  JsonValue& images = model.preprocessor.json;
  const JsonValue* size = known(images, "size");
  const JsonValue* height = size == nullptr ? nullptr : known(*size, "height");
  const uint64_t side = height == nullptr ? kImageSize : whole(*height).value_or(0);
  const JsonValue* length = known(images, "image_seq_length");
  const uint64_t tokens = length == nullptr ? kTokensOfImage : whole(*length).value_or(0);
  if (side == 0 || tokens == 0) {
    return corrupt("{}: size.height and image_seq_length; expected numbers above 0",
                   model.preprocessor.where);
  }
  vision["image_size"] = side;
  vision["patch_size"] = side / tokens;
  images["image_mean"] = {0, 0, 0};  // a MobileNet takes colors from 0 to 1
  images["image_std"] = {1, 1, 1};
  if (!model.hears()) return {};
  JsonValue& audio = model.audio.json;
  audio["n_layers"] = audio["conf_num_hidden_layers"];
  audio["num_attention_heads"] = audio["conf_num_attention_heads"];
  return {};
}

constexpr TowerKey kGemma3nKeys[] = {kEpsilonKey};

Status add_gemma3n_keys(const ProjectorModel& model, Metadata& metadata) {
  constexpr double kEpsilonOfAudio = 1e-5;
  if (!model.hears()) return {};
  metadata.append("clip.audio.projector_type", MetaValue::text("gemma3na"));
  CKPT_ASSIGN(const uint64_t bins, model.audio.count("input_feat_size"));
  metadata.append("clip.audio.num_mel_bins", MetaValue::u32(bins));
  metadata.append("clip.audio.attention.layer_norm_epsilon", MetaValue::f32(kEpsilonOfAudio));
  return {};
}

}  // namespace

const ProjectorFamily kGemma3nProjector = {
    .name = "gemma3nv",
    .architectures = "Gemma3nForConditionalGeneration",
    .tower = "gemma3n",
    .vision_defaults = R"({"layer_norm_eps": 1e-6})",
    .text_defaults = R"({"hidden_size": 2048})",
    .audio_defaults = R"({"hidden_size": 1536, "intermediate_size": 6144, "input_feat_size": 128,
                          "conf_num_hidden_layers": 12, "conf_num_attention_heads": 8})",
    .complete = complete_gemma3n,
    .keys = kGemma3nKeys,
    .add_keys = add_gemma3n_keys,
};

}  // namespace ckpt
