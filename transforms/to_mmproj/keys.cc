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
    {"embedding_length", "hidden_size d_model"},
    {"feed_forward_length", "intermediate_size encoder_ffn_dim"},
    {"block_count", kBlockFields},
    {"attention.head_count", "num_attention_heads encoder_attention_heads"},
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

Status add_vision_keys(const ProjectorModel& model, Metadata& metadata) {
  metadata.append("clip.has_vision_encoder", MetaValue::boolean(true));
  metadata.append("clip.vision.projection_dim", MetaValue::u32(model.text_width));
  CKPT_TRY(add_counts(kVisionCounts, "clip.vision.", model.vision, metadata));
  CKPT_TRY(add_colors("image_mean", model, metadata));
  return add_colors("image_std", model, metadata);
}

Result<MetaValue> activation_flag(const ConfigPart& part, std::string_view fields,
                                  std::string& key) {
  CKPT_ASSIGN(const std::string activation, part.word(fields));
  if (activation != "silu" && activation != "gelu") {
    return unsupported("{}: {} is '{}'; llama.cpp has silu and gelu", part.where, fields,
                       activation);
  }
  key = fill_in(key, {activation});
  return MetaValue::boolean(true);
}

Result<MetaValue> list_of(const ConfigPart& part, std::string_view field) {
  std::vector<int32_t> out;
  for (const JsonValue& item : list_in(part.json, field)) {
    const auto value = number(item);
    if (!value || *value < INT32_MIN || *value > INT32_MAX) {
      return corrupt("{}: {} holds {}; expected whole numbers", part.where, field, item.dump());
    }
    out.push_back(static_cast<int32_t>(*value));
  }
  return MetaValue::array(make_i32_array(out));
}

Status add_tower_key(const TowerKey& row, const ProjectorModel& model, Metadata& metadata) {
  const ConfigPart& part = model.*row.part;
  std::string key = fmt::format("clip.{}", row.key);
  MetaValue value = MetaValue::boolean(true);
  if (row.is_optional && part.find(row.fields) == nullptr) return {};
  switch (row.type) {
    case MetaType::kU32: {
      CKPT_ASSIGN(const uint64_t count, part.count(row.fields));
      value = MetaValue::u32(count);
      break;
    }
    case MetaType::kF32: {
      CKPT_ASSIGN(const double real, part.real(row.fields));
      value = MetaValue::f32(real);
      break;
    }
    case MetaType::kArray: CKPT_SET(value, list_of(part, row.fields)); break;
    case MetaType::kText: CKPT_SET(value, activation_flag(part, row.fields, key)); break;
    default: break;
  }
  metadata.append(std::move(key), std::move(value));
  return {};
}

}  // namespace

Status add_projector_keys(const ProjectorModel& model, Metadata& metadata) {
  constexpr uint64_t kNvfp4File = 39;  // llama.cpp include/llama.h `enum llama_ftype`
  const bool is_nvfp4 = model.is_of_nvfp4 && model.out_type != OutType::kQ8_0;
  metadata.append("general.file_type",
                  MetaValue::u32(is_nvfp4 ? kNvfp4File : file_type(model.out_type)));
  if (model.sees()) CKPT_TRY(add_vision_keys(model, metadata));
  if (model.hears()) {
    metadata.append("clip.has_audio_encoder", MetaValue::boolean(true));
    metadata.append("clip.audio.projection_dim", MetaValue::u32(model.text_width));
    CKPT_TRY(add_counts(kAudioCounts, "clip.audio.", model.audio, metadata));
  }
  const ProjectorFamily& family = *model.family;
  const bool has_both = model.sees() && !family.audio_defaults.empty();  // a type for each
  metadata.append(has_both ? "clip.vision.projector_type" : "clip.projector_type",
                  MetaValue::text(std::string(family.name)));
  for (const TowerKey& row : family.keys) CKPT_TRY(add_tower_key(row, model, metadata));
  return family.add_keys == nullptr ? Status() : family.add_keys(model, metadata);
}

}  // namespace ckpt
