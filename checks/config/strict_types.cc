// Checks of the types of config.json's fields as the configurations of transformers 5 demand them.
//
// Source: transformers src/transformers/models/*/configuration_*.py of 5.6.0 and 5.19.0 (dataclass
// fields, validated by huggingface_hub's strict dataclasses).
// 0 is not a float, true is not a whole number, and a field that is never used is checked too.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// The type of a field.
enum class Kind : uint8_t {
  kWhole,
  kFloat,
  kNumber,
  kTruth,
  kTextFields,
  kWholes,
  kSizes,
  kObject
};

struct Field {
  std::string_view name;
  Kind kind;
  bool may_be_null = false;  // of every class; of one by the quirk "null:FIELD"
};
constexpr Field kTextFields[] = {
    {"vocab_size", Kind::kWhole},
    {"hidden_size", Kind::kWhole},
    {"intermediate_size", Kind::kWhole},
    {"num_hidden_layers", Kind::kWhole},
    {"num_attention_heads", Kind::kWhole},
    {"num_key_value_heads", Kind::kWhole},
    {"head_dim", Kind::kWhole},
    {"hidden_act", Kind::kTextFields},
    {"max_position_embeddings", Kind::kWhole},
    {"initializer_range", Kind::kFloat},
    {"rms_norm_eps", Kind::kFloat},
    {"use_cache", Kind::kTruth},
    {"tie_word_embeddings", Kind::kTruth},
    {"attention_dropout", Kind::kNumber},
    {"rope_parameters", Kind::kObject, true},
    {"pad_token_id", Kind::kWhole, true},
    {"bos_token_id", Kind::kWhole, true},
    {"eos_token_id", Kind::kWholes, true},
};
constexpr Field kDeltaFields[] = {
    {"attention_bias", Kind::kTruth},       {"linear_conv_kernel_dim", Kind::kWhole},
    {"linear_key_head_dim", Kind::kWhole},  {"linear_value_head_dim", Kind::kWhole},
    {"linear_num_key_heads", Kind::kWhole}, {"linear_num_value_heads", Kind::kWhole}};
// By the letter of the quirk "demands:FIELD=LETTER", of a field that other classes do not check.
constexpr std::pair<std::string_view, Field> kDemands[] = {{"w", {"", Kind::kWhole}},
                                                           {"n", {"", Kind::kWhole, true}},
                                                           {"t", {"", Kind::kTruth}},
                                                           {"f", {"", Kind::kFloat}}};
constexpr Field kWrapper[] = {{"image_token_id", Kind::kWhole},
                              {"video_token_id", Kind::kWhole},
                              {"vision_start_token_id", Kind::kWhole},
                              {"vision_end_token_id", Kind::kWhole},
                              {"tie_word_embeddings", Kind::kTruth}};
constexpr Field kVisionFields[] = {{"depth", Kind::kWhole},
                                   {"hidden_size", Kind::kWhole},
                                   {"hidden_act", Kind::kTextFields},
                                   {"intermediate_size", Kind::kWhole},
                                   {"num_heads", Kind::kWhole},
                                   {"in_channels", Kind::kWhole},
                                   {"patch_size", Kind::kSizes},
                                   {"spatial_merge_size", Kind::kWhole},
                                   {"temporal_patch_size", Kind::kSizes},
                                   {"out_hidden_size", Kind::kWhole},
                                   {"num_position_embeddings", Kind::kWhole},
                                   {"initializer_range", Kind::kFloat},
                                   {"rope_parameters", Kind::kObject, true}};

bool are_whole(const JsonValue& list) {
  return list.is_array() &&
         std::ranges::all_of(list, [](const JsonValue& item) { return item.is_number_integer(); });
}

bool is_of(const JsonValue& value, Kind kind) {
  switch (kind) {
    case Kind::kWhole: return value.is_number_integer();
    case Kind::kFloat: return value.is_number_float();
    case Kind::kNumber: return value.is_number();
    case Kind::kTruth: return value.is_boolean();
    case Kind::kTextFields: return value.is_string();
    case Kind::kWholes:
    case Kind::kSizes: return value.is_number_integer() || are_whole(value);
    case Kind::kObject: return value.is_object();
  }
  return true;
}

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"a whole number",
                                         "a number with a point",
                                         "a number",
                                         "true or false",
                                         "a text",
                                         "a whole number or a list of them",
                                         "a whole number or a list of them",
                                         "an object"};
  return kNames[static_cast<size_t>(kind)];
}

void look_field(const Look& look, const std::string& prefix, const JsonValue& json,
                const Field& field) {
  const JsonValue* value = member(json, field.name);
  if (value == nullptr || is_of(*value, field.kind)) return;
  const bool may_be_null =
      field.may_be_null || has_quirk(look.on.text_type, fmt::format("null:{}", field.name));
  if (value->is_null() && may_be_null) return;
  look.tell(fmt::format("{}{}", prefix, field.name), "{}; expected {}", value->dump(),
            kind_name(field.kind));
}

bool are_of_kind(const JsonValue& values, bool (*is_kind)(const JsonValue&)) {
  return std::ranges::all_of(values, is_kind);
}
bool is_word(const JsonValue& value) { return value.is_string(); }
bool is_integer(const JsonValue& value) { return value.is_number_integer(); }

// Python's int() takes more texts; a configuration that was saved has none of those.
bool has_numbers_for_keys(const JsonValue& value) {
  return std::ranges::all_of(value.items(), [](const auto& item) {
    const std::string key = item.key();
    return !key.empty() && key.find_first_not_of("-+_ 0123456789") == key.npos;
  });
}

// Letters of narrower kinds, which only some sections have.
bool is_of_narrow(const JsonValue& value, char letter) {
  switch (letter) {
    case 't': return value.is_array() && are_of_kind(value, is_word);
    case 'k':
      return value.is_object() && are_of_kind(value, is_word) && has_numbers_for_keys(value);
    case 'v':
      return value.is_object() && (are_of_kind(value, is_word) || are_of_kind(value, is_integer));
    case 'p':
      return value == "regression" || value == "single_label_classification" ||
             value == "multi_label_classification";
    default: return false;
  }
}

// The letter of a value in the sections [field NAME=TYPES] of a profile.
char letter_of(const JsonValue& value) {
  if (value.is_boolean()) return 'b';
  if (value.is_number_integer()) return 'i';
  if (value.is_number()) return 'f';
  if (value.is_string()) return 's';
  if (value.is_null()) return 'n';
  if (value.is_object()) return 'd';
  return are_whole(value) ? 'L' : 'l';
}

std::string names_of(std::string_view letters) {
  constexpr std::pair<char, std::string_view> kNames[] = {
      {'b', "true or false"},
      {'i', "a whole number"},
      {'f', "a number with a point"},
      {'s', "a text"},
      {'L', "a list of whole numbers"},
      {'l', "a list"},
      {'d', "an object"},
      {'t', "a list of texts"},
      {'k', "texts by numbers"},
      {'v', "texts or whole numbers by names"},
      {'p', "a kind of classification or regression"},
      {'n', "null"}};
  std::vector<std::string_view> out;
  for (const auto& [letter, kind] : kNames) {
    if (letters.find(letter) != letters.npos) out.push_back(kind);
  }
  return fmt::format("{}", fmt::join(out, " or "));
}

// "*" means every class.
constexpr std::string_view kEveryClass = "*";

// Fields that the profile lists for classes of this model type.
void look_listed_types(const Look& look, const Profile& profile, const std::string& prefix,
                       const JsonValue& json, std::string_view type) {
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const std::string start = fmt::format("field {}=", key);
    auto section = profile.lists.lower_bound(start);
    while (section != profile.lists.end() && section->first.starts_with(start) &&
           !section->second.words.contains(type)) {
      ++section;
    }
    if (section == profile.lists.end() || !section->first.starts_with(start)) continue;
    const std::string_view letters = section->first.substr(start.size());
    const bool is_empty_list = value.is_array() && value.empty();
    if (letters.find_first_of(is_empty_list ? "lL" : std::string(1, letter_of(value))) !=
        letters.npos) {
      continue;
    }
    if (std::ranges::any_of(letters, [&](char letter) { return is_of_narrow(value, letter); })) {
      continue;
    }
    look.tell(prefix + key, "{}; expected {}", value.dump(), names_of(letters));
  }
}

// Fields of the class that all configurations derive from; servers make the same configurations.
void look_base_types(const Look& look) {
  const Examined& on = look.on;
  const Profile& source = *find_profile("transformers-5");
  if (!knows_model_type(source, on.model_type)) return;
  look_listed_types(look, source, "config.json: ", on.config, kEveryClass);
  if (!on.is_wrapper) return;
  for (const std::string_view part : {"text_config", "vision_config", "audio_config"}) {
    const JsonValue* inner = known(on.config, part);
    if (inner == nullptr) continue;
    look_listed_types(look, source, fmt::format("config.json: {}.", part), *inner, kEveryClass);
  }
}

void look_types(const Look& look) {
  const Examined& on = look.on;
  const std::string& type = on.text_type;
  const bool is_delta = has_quirk(type, "delta_class");
  const bool has_class = has_quirk(type, "text_class") || is_delta;
  if (on.is_gguf || on.config.is_null()) return;
  look_base_types(look);
  const std::string prefix = on.text_place();
  const JsonValue& text = on.text_config();
  const bool is_strict_tower = has_quirk(type, "strict_tower") && on.has_text_config();
  if (on.has_text_config() && !is_strict_tower) {
    look_listed_types(look, look.profile, "config.json: ", on.config, on.model_type);
  }
  if (!has_class) return look_listed_types(look, look.profile, prefix, text, type);
  const bool is_dense = !has_quirk(type, "experts_alone");
  for (const Field& field : kTextFields) {
    if (is_dense || field.name != "intermediate_size") look_field(look, prefix, text, field);
  }
  if (is_delta) {
    for (const Field& field : kDeltaFields) look_field(look, prefix, text, field);
  }
  for (const std::string_view demand : words_after(quirks_of(type), "demands:")) {
    const size_t sign = demand.find('=');
    for (auto [letter, field] : kDemands) {
      field.name = demand.substr(0, sign);
      if (letter == demand.substr(sign + 1)) look_field(look, prefix, text, field);
    }
  }
  if (!is_strict_tower) return;
  for (const Field& field : kWrapper) look_field(look, "config.json: ", on.config, field);
  const JsonValue* vision = known(on.config, "vision_config");
  if (vision == nullptr || !vision->is_object()) return;
  for (const Field& field : kVisionFields) {
    look_field(look, "config.json: vision_config.", *vision, field);
  }
}

constexpr Check kStrictTypeChecks[] = {
    {"C33", "fields have the types that transformers 5 demands",
     "U: vllm sglang transformers-5, W: tensorrt-llm",
     "StrictDataclassFieldValidationError: Validation error for field", "", kTakeConfig,
     look_types},
};

}  // namespace

std::span<const Check> strict_type_checks() { return kStrictTypeChecks; }

}  // namespace ckpt
