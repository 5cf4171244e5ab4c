// The common keys, in the order of writing (llama.cpp conversion/base.py
// MmprojModel.set_gguf_parameters), before those of the family.
#include "transforms/to_gguf/model.h"
#include "transforms/to_mmproj/families/families.h"
#include "transforms/to_mmproj/projector.h"

namespace ckpt {
namespace {

struct CountKey {
  std::string_view key, fields;
};
constexpr CountKey kVisionCounts[] = {
    {"image_size", "image_size"},
    {"patch_size", "patch_size"},
    {"embedding_length", "hidden_size width vt_hidden_size"},
    {"feed_forward_length", "intermediate_size vt_intermediate_size"},
    {"block_count", kBlockFields},
    {"attention.head_count", "num_attention_heads num_heads heads vt_num_attention_heads"},
};
constexpr CountKey kAudioCounts[] = {
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"block_count", kBlockFields},
    {"attention.head_count", "num_attention_heads"},
};

Status add_counts(std::span<const CountKey> keys, std::string_view prefix, const ConfigPart& part,
                  Metadata& metadata) {
  for (const CountKey& row : keys) {
    CKPT_ASSIGN(const uint64_t count, part.count(row.fields));
    metadata.append(fmt::format("{}{}", prefix, row.key), MetaValue::u32(count));
  }
  return {};
}

// One number per color. Integers are also written as F32, because llama.cpp reads F32.
Status add_colors(const char* field, const ProjectorModel& model, Metadata& metadata) {
  constexpr size_t kColors = 3;
  constexpr const char* kReleased =
      "--step preprocessor, which writes the family's usual one; or copy preprocessor_config.json "
      "of the released model into the folder";
  if (model.preprocessor.json.empty()) {
    return corrupt_hint(kReleased, "no preprocessor_config.json, which says {}", field);
  }
  auto values = model.preprocessor.reals(field);
  if (values && values->size() != kColors) {
    values = corrupt("{}: {} has {} numbers; expected {}", model.preprocessor.where, field,
                     values->size(), kColors);
  }
  if (!values && values.error().hint.empty()) values.error().hint = kReleased;
  if (!values) return Failure(std::move(values.error()));
  metadata.append(fmt::format("clip.vision.{}", field), MetaValue::array(make_f32_array(*values)));
  return {};
}

}  // namespace

Status add_projector_keys(const ProjectorModel& model, Metadata& metadata) {
  constexpr uint64_t kNvfp4File = 39;  // llama.cpp include/llama.h `enum llama_ftype`
  const bool is_nvfp4 = model.is_of_nvfp4 && model.out_type != OutType::kQ8_0;
  metadata.append("general.file_type",
                  MetaValue::u32(is_nvfp4 ? kNvfp4File : file_type(model.out_type)));
  metadata.append("clip.has_vision_encoder", MetaValue::boolean(true));
  metadata.append("clip.vision.projection_dim", MetaValue::u32(model.text_width));
  CKPT_TRY(add_counts(kVisionCounts, "clip.vision.", model.vision, metadata));
  CKPT_TRY(add_colors("image_mean", model, metadata));
  CKPT_TRY(add_colors("image_std", model, metadata));
  if (model.hears()) {
    metadata.append("clip.has_audio_encoder", MetaValue::boolean(true));
    metadata.append("clip.audio.projection_dim", MetaValue::u32(model.text_width));
    CKPT_TRY(add_counts(kAudioCounts, "clip.audio.", model.audio, metadata));
  }
  const ProjectorFamily& family = *model.family;
  const bool has_audio = !family.audio_defaults.empty();  // audio has a projector type too
  metadata.append(has_audio ? "clip.vision.projector_type" : "clip.projector_type",
                  MetaValue::text(std::string(family.name)));
  return family.add_keys(model, metadata);
}

}  // namespace ckpt
