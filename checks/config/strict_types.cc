// Checks config.json's fields against the configurations of transformers: types, values at which
// constructors stop, and words in lists.
//
// Source: transformers src/transformers/models/*/configuration_*.py of 5.6.0, 5.17.0 and 5.19.0
// (dataclass fields, validated by huggingface_hub's strict dataclasses), and of 4.57.1, in
// data/profiles/transformers-*.txt. vLLM and SGLang use the same configuration classes, except for
// those that their profiles list as their own or as missing. 0 is not a float, true is not a whole
// number, and unused fields are checked too.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

bool are_texts(const JsonValue& values) {
  return std::ranges::all_of(values, &JsonValue::is_string);
}
bool are_whole(const JsonValue& values) {
  return std::ranges::all_of(values, &JsonValue::is_number_integer);
}

// Python's int() accepts more texts, but saved configurations contain none of those.
bool has_numbers_for_keys(const JsonValue& value) {
  return std::ranges::all_of(value.items(), [](const auto& item) {
    const std::string key = item.key();
    return !key.empty() && key.find_first_not_of("-+_ 0123456789") == key.npos;
  });
}

// Letters of narrower kinds, which only some sections of profiles use.
bool is_of_narrow(const JsonValue& value, char letter) {
  switch (letter) {
    case 't': return is_list_of_texts(value);
    case 'k': return value.is_object() && are_texts(value) && has_numbers_for_keys(value);
    case 'v': return value.is_object() && (are_texts(value) || are_whole(value));
    case 'K': return value.is_object() && has_numbers_for_keys(value);
    case 'p':
      return value == "regression" || value == "single_label_classification" ||
             value == "multi_label_classification";
    default: return false;
  }
}

// The letter of a value's kind in the sections [field NAME=TYPES] of a profile.
char letter_of(const JsonValue& value) {
  if (value.is_boolean()) return 'b';
  if (value.is_number_integer()) return 'i';
  if (value.is_number()) return 'f';
  if (value.is_string()) return 's';
  if (value.is_null()) return 'n';
  if (value.is_object()) return 'd';
  return are_whole(value) ? 'L' : 'l';  // a list
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
      {'K', "an object whose names are numbers"},
      {'v', "texts or whole numbers by names"},
      {'p', "a kind of classification or regression"},
      {'n', "null"}};
  std::vector<std::string_view> out;
  for (const auto& [letter, kind] : kNames) {
    if (letters.find(letter) != letters.npos) out.push_back(kind);
  }
  return fmt::format("{}", fmt::join(out, " or "));
}

// "*" stands for every class.
constexpr std::string_view kEveryClass = "*";
constexpr std::string_view kParts = " text_config vision_config audio_config ";

// Whether the program defines a class, or a field of one ("llama.head_dim"), itself.
bool has_own(const CheckContext& context, std::string_view type_or_field) {
  return has_listed(context.profile, "own configurations", type_or_field, false);
}

bool is_of_types(const JsonValue& value, std::string_view letters) {
  const bool is_empty_list = value.is_array() && value.empty();
  const std::string own = is_empty_list ? "lL" : std::string(1, letter_of(value));
  return letters.find_first_of(own) != letters.npos ||
         std::ranges::any_of(letters, [&](char letter) { return is_of_narrow(value, letter); });
}

// The fault of a field in the class of this model type, or "".
std::string fault_of_field(const CheckContext& context, std::string_view key,
                           const JsonValue& value, std::string_view type) {
  const Profile& reader = context.profile.transformers();
  const auto types = section_with(reader, fmt::format("field {}=", key), type);
  if (!types.empty() && !is_of_types(value, types)) {
    return fmt::format("{}; expected {}", value.dump(), names_of(types));
  }
  if (context.profile.serves()) return {};  // C11, C21, C42, C43; SGLang has 5.6
  for (const std::string_view section : {"stops", "unmade"}) {  // of configuration; of model
    const auto kinds = section_with(reader, fmt::format("{} {}=", section, key), type);
    if (kinds.find(bad_value_letter(&value)) == kinds.npos) continue;
    return fmt::format("{}; expected a number that this class can compute with", value.dump());
  }
  const auto words = section_with(reader, fmt::format("words {}: ", key), type);
  if (words.empty() || !value.is_array()) return {};
  for (const JsonValue& word : value) {
    const auto* text = word.get_ptr<const std::string*>();
    if (text == nullptr) return {};  // C28
    // The table has the words of transformers 5.17; newer releases renamed some of them.
    const bool is_renamed =
        has_listed(reader, "layer types", *text, false) &&
        std::ranges::any_of(kLayerTypes, [&](const LayerTypeWord& older) {
          return older.newer_word == *text && has_word(words, older.word);
        });
    if (has_word(words, *text) || is_renamed) continue;
    return fmt::format("{}; the class knows {}", word.dump(), words);
  }
  return {};
}

// Checks the fields that the profile lists for the class of this model type.
void check_class(const CheckContext& context, const std::string& prefix, const JsonValue& json,
                 std::string_view type) {
  if (!json.is_object() || has_own(context, type)) return;
  for (const auto& [key, value] : json.items()) {
    std::string fault = fault_of_field(context, key, value, type);
    if (fault.empty() || has_own(context, fmt::format("{}.{}", type, key))) continue;
    context.report(prefix + key, std::move(fault));
  }
}

// The model type of the class that a wrapper builds for its part; empty if unknown.
std::string type_of_part(const std::string& wrapper, const std::string& field,
                         const JsonValue& part) {
  const std::string* own = text_of(part, "model_type");
  const std::string start = fmt::format("{}.{}=", wrapper, field);
  const auto words = listed_words(*find_profile("transformers-5"), "parts");
  const auto found = std::ranges::find_if(
      words, [&](std::string_view word) { return word.starts_with(start); });
  const bool is_listed = found != words.end();
  if (!is_listed) return own != nullptr && field == "text_config" ? *own : "";
  std::string_view type = found->substr(start.size());
  const bool may_name_another = type.ends_with('?');
  if (may_name_another) type.remove_suffix(1);
  return std::string(may_name_another && own != nullptr ? *own : type);
}

void check_types(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.config.is_null()) return;
  // Configurations that servers define themselves derive from the same base class.
  const bool has_base = knows_model_type(context.profile.transformers(), on.model_type);
  if (has_base) check_class(context, "config.json: ", on.config, kEveryClass);
  check_class(context, "config.json: ", on.config, on.model_type);
  for (const auto& [field, part] : on.config.items()) {
    if (!part.is_object()) continue;
    const std::string prefix = fmt::format("config.json: {}.", field);
    const std::string type = type_of_part(on.model_type, field, part);
    const bool is_part = !type.empty() || (on.is_wrapper && has_word(kParts, field));
    if (has_base && is_part) check_class(context, prefix, part, kEveryClass);
    if (!has_own(context, on.model_type)) check_class(context, prefix, part, type);
  }
}

constexpr Check kStrictTypeChecks[] = {
    {"C33", "fields have types, values and words that load",
     "U: vllm* sglang transformers*, W: tensorrt-llm",
     "StrictDataclassFieldValidationError: Validation error for field; unsupported operand "
     "type(s); entries must be in",
     kTakeConfig, check_types},
};

}  // namespace

std::span<const Check> strict_type_checks() { return kStrictTypeChecks; }

}  // namespace ckpt
