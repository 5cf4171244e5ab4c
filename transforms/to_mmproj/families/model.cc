// The configuration as llama.cpp's converter reads it (conversion/base.py MmprojModel.__init__):
// vision_config and audio_config with class defaults, and the two preprocessor files merged.
// processor_config.json overrides preprocessor_config.json, and its image_processor overrides both.

#include <algorithm>

#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

Failure wrong_kind(const ConfigPart& part, std::string_view fields, const JsonValue& found,
                   std::string_view expected) {
  return corrupt("{}: {} is {}; expected {}", part.where, fields, found.dump().substr(0, 60),
                 expected);
}

// The members of `defaults`, overridden by those of `given`.
Result<JsonValue> filled(std::string_view defaults, const JsonValue* given) {
  CKPT_ASSIGN(JsonValue out, parse_json("defaults", defaults));
  if (given != nullptr && given->is_object()) out.update(*given);
  return out;
}

// The document merged with its member `inner`, which overrides the rest; {} without a document.
Result<JsonValue> flattened(const Checkpoint& checkpoint, std::string_view path,
                            std::string_view inner) {
  CKPT_ASSIGN(const auto read, read_object(checkpoint, path));
  JsonValue out = read ? *read : JsonValue::object();
  const JsonValue over = object_in(out, inner);
  out.update(over);
  return out;
}

Result<JsonValue> read_preprocessor(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(JsonValue out, flattened(checkpoint, "preprocessor_config.json", "media_proc_cfg"));
  CKPT_ASSIGN(const JsonValue over,
              flattened(checkpoint, "processor_config.json", "image_processor"));
  out.update(over);
  return out;
}

// Whether the model is declared NVFP4; the converter assumes it for the towers too.
Result<bool> says_nvfp4(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto config, read_object(checkpoint, "hf_quant_config.json"));
  const JsonValue* quantization = known(config.get(), "quantization");
  if (quantization == nullptr) return false;
  const auto algorithm_of = [](const JsonValue& part) { return text_in(part, "quant_algo"); };
  return has_word("NVFP4 W4A16_NVFP4", algorithm_of(*quantization)) ||
         std::ranges::any_of(
             object_in(*quantization, "quantized_layers"),
             [](std::string_view each) { return each.ends_with("NVFP4"); }, algorithm_of);
}

std::string architecture_of(const JsonValue& root) {
  const JsonValue& list = list_in(root, "architectures");
  if (list.empty()) return "no architectures";
  const auto* name = list.front().get_ptr<const std::string*>();
  return fmt::format("architecture '{}'", name == nullptr ? list.front().dump() : *name);
}

Status read_vision(ProjectorModel& model) {
  const ProjectorFamily& family = *model.family;
  model.vision.json = JsonValue::object();
  if (family.vision_defaults.empty()) return {};
  const JsonValue* vision = model.root.find("vision_config");
  if (vision == nullptr || !vision->is_object()) {
    return unsupported(
        "config.json: no vision_config; a projector is made of a model's vision tower");
  }
  CKPT_SET(model.vision.json, filled(family.vision_defaults, vision));
  for (const ClassDefault& row : tower_named(family.tower).defaults) {
    const auto value = number_from<uint64_t>(row.value);
    const bool is_inner = row.field.find('.') != row.field.npos;
    if (value && !is_inner) model.vision.json.emplace(std::string(row.field), *value);
  }
  return {};
}

Status read_parts(const Checkpoint& checkpoint, ProjectorModel& model) {
  const ProjectorFamily& family = *model.family;
  CKPT_TRY(read_vision(model));
  const char* text = model.root.find("llm_config") == nullptr ? "text_config" : "llm_config";
  const bool is_flat = model.root.find(text) == nullptr && model.root.find("hidden_size");
  CKPT_ASSIGN(model.text.json, filled(family.text_defaults, model.root.find(text)));
  const JsonValue* audio = model.root.find("audio_config");
  model.audio.json = JsonValue::object();
  if (!family.audio_defaults.empty() && audio != nullptr && !audio->empty()) {
    CKPT_ASSIGN(model.audio.json, filled(family.audio_defaults, audio));
  }
  CKPT_ASSIGN(model.root.json, filled(family.root_defaults, &model.root.json));
  CKPT_ASSIGN(model.preprocessor.json, read_preprocessor(checkpoint));
  CKPT_ASSIGN(model.is_of_nvfp4, says_nvfp4(checkpoint));
  const bool has_width = !is_flat && model.text.find("hidden_size") != nullptr;
  CKPT_ASSIGN(model.text_width, (!has_width ? model.root : model.text).count("hidden_size"));
  return {};
}

}  // namespace

Result<const JsonValue*> ConfigPart::first(std::string_view fields) const {
  for (const std::string_view field : split_words(fields)) {
    if (const JsonValue* found = member(json, field)) return found;
  }
  return corrupt("{}: no {}", where, fields.substr(0, fields.find(' ')));
}

Result<uint64_t> ConfigPart::count(std::string_view fields) const {
  CKPT_ASSIGN(const JsonValue* found, first(fields));
  const auto value = whole(*found);
  if (value && *value <= UINT32_MAX) return *value;
  return wrong_kind(*this, fields, *found, "a whole number");
}

Result<double> ConfigPart::real(std::string_view fields) const {
  CKPT_ASSIGN(const JsonValue* found, first(fields));
  const auto value = number(*found);
  if (value) return *value;
  return wrong_kind(*this, fields, *found, "a number");
}

Result<std::string> ConfigPart::word(std::string_view fields) const {
  CKPT_ASSIGN(const JsonValue* found, first(fields));
  if (const auto* text = found->get_ptr<const std::string*>()) return *text;
  return wrong_kind(*this, fields, *found, "a text");
}

Result<std::vector<float>> ConfigPart::reals(std::string_view fields) const {
  CKPT_ASSIGN(const JsonValue* found, first(fields));
  std::vector<float> out;
  for (const JsonValue& item : *found) {
    const auto value = number(item);
    if (!found->is_array() || !value) break;
    out.push_back(static_cast<float>(*value));
  }
  if (!out.empty() && out.size() == found->size()) return out;
  return wrong_kind(*this, fields, *found, "a list of numbers");
}

Result<uint64_t> inverse_of(const ConfigPart& part, std::string_view field) {
  constexpr double kLeast = 1e-6;
  CKPT_ASSIGN(const double ratio, part.real(field));
  if (ratio >= kLeast) return static_cast<uint64_t>(1.0 / ratio);
  return corrupt("{}: {} is {}; expected more than 0", part.where, field, ratio);
}

Result<ProjectorModel> read_projector_model(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto root, read_object(checkpoint, "config.json"));
  if (!root) {
    return misuse_hint("--base MODEL, which has it, or the folder that holds it and the weights",
                       "no config.json; a Hugging Face checkpoint has one");
  }
  ProjectorModel model;
  model.root = {"config.json", *root};
  model.text.where = "config.json: text_config";
  model.vision.where = "config.json: vision_config";
  model.audio.where = "config.json: audio_config";
  model.preprocessor.where = "preprocessor_config.json";
  model.family = find_projector_family(*root);
  if (model.family == nullptr) {
    return unsupported_hint("ckpt list families", "config.json: {} has no projector here",
                            architecture_of(*root));
  }
  CKPT_TRY(read_parts(checkpoint, model));
  if (model.family->complete != nullptr) CKPT_TRY(model.family->complete(checkpoint, model));
  return model;
}

}  // namespace ckpt
