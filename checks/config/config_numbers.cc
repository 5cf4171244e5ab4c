// Checks that each number in config.json is of the right kind, whatever the tensors are.
//
// Sources: vLLM vllm/transformers_utils/model_arch_config_convertor.py, vllm/config/model.py and
// the constructors of models/llama.py, qwen3.py, qwen3_next.py, qwen3_5.py, qwen3_vl.py of 0.17.1,
// tried with each number changed (testdata/doctor). Python treats true as 1, so some of these load;
// a number in quotes never does.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// The loader's reaction to numbers that cannot be sizes: U refuses, S accepts and miscomputes. The
// letters are for null, zero, a negative number and true.
struct NumberRule {
  std::string_view keys, letters;
};
using NumberRules = std::span<const NumberRule>;
// Rules for text models. An absent number gets the class's default, but null does not.
constexpr NumberRule kText[] = {
    {"hidden_size vocab_size num_hidden_layers num_attention_heads", "UUUU"},
    {"num_key_value_heads", "-UUS"},
    {"head_dim", "-SUS"},
    {"intermediate_size", "UUUS"},
};
// Rules for text models with gated delta net layers.
constexpr NumberRule kDelta[] = {
    kText[0],
    {"num_key_value_heads", "UUUS"},
    {"head_dim", "-UUU"},
    {"linear_conv_kernel_dim", "UUUU"},
    {"linear_key_head_dim linear_num_key_heads", "USUS"},
    {"linear_num_value_heads", "UUUS"},
    {"linear_value_head_dim", "UUUU"},
};
constexpr NumberRule kDenseNumbers[] = {{"intermediate_size", "UUUS"}};
constexpr NumberRule kExpertNumbers[] = {{"num_experts", "UUUU"},
                                         {"moe_intermediate_size", "USUS"},
                                         {"shared_expert_intermediate_size", "USSS"}};
constexpr NumberRule kVision[] = {
    {"depth hidden_size", "UUUU"},
    {"intermediate_size num_heads", "UUUS"},
    {"in_channels patch_size", "UUUU"},
    {"spatial_merge_size", "UUSU"},
    {"temporal_patch_size num_position_embeddings out_hidden_size", "UUUU"},
};

// The fault of a number and its severity; `wrong` is "" for a whole number above zero.
struct NumberVerdict {
  std::string_view wrong;
  char weight = '-';
};
NumberVerdict judge(const JsonValue& value, std::string_view letters) {
  if (value.is_null()) return {"null", letters[0]};
  if (value.is_boolean()) return {"a truth value", letters[value.get<bool>() ? 3 : 1]};
  if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<uint64_t>() > 0) return {};
    return value == 0 ? NumberVerdict{"zero", letters[1]} : NumberVerdict{"negative", letters[2]};
  }
  if (value.is_number()) return {"no whole number", 'U'};
  return {"no number", 'U'};
}

struct Level {
  std::string prefix;
  const JsonValue* json;
  NumberRules rules;
  bool has_weights = true;  // without weights, no shape tells 1 from true
};

std::vector<Level> levels_of(const Subject& on) {
  if (on.config.is_null()) return {};
  std::vector<Level> out;
  const std::string prefix = on.text_place();
  const JsonValue& text = on.text_config();
  if (has_trait(on.text_type, ModelTrait::kDeltaClass)) {
    out.push_back({prefix, &text, kDelta});
    const bool has_experts = has_trait(on.text_type, ModelTrait::kExpertsAlone);
    out.push_back({prefix, &text, has_experts ? NumberRules(kExpertNumbers) : kDenseNumbers});
  } else if (has_trait(on.text_type, ModelTrait::kTextClass)) {
    out.push_back({prefix, &text, kText});
  }
  const JsonValue* vision = known(on.config, "vision_config");
  const bool is_read = vision != nullptr && has_trait(on.text_type, ModelTrait::kStrictTower);
  if (is_read && vision->is_object()) {
    out.push_back({"config.json: vision_config.", vision, kVision, on.has_vision_tensors()});
  }
  return out;
}

void check_number(const CheckContext& context, const Level& level, const NumberRule& rule,
                  std::string_view key, char weight) {
  const JsonValue* value = member(*level.json, key);
  if (value == nullptr) return;
  NumberVerdict judged = judge(*value, rule.letters);
  const bool is_divisor = has_word(" num_heads num_position_embeddings ", key);
  const bool is_small = value->is_boolean() || *value == 0;
  if (!level.has_weights && is_small && !is_divisor) judged.weight = 'S';
  if (judged.weight != weight) return;
  context.tell(fmt::format("{}{}", level.prefix, key),
               "{}, which is {}; expected a whole number above zero", value->dump(), judged.wrong);
}

void check_config_numbers(const CheckContext& context, char weight) {
  for (const Level& level : levels_of(context.on)) {
    for (const NumberRule& rule : level.rules) {
      for (const auto key : split_words(rule.keys)) check_number(context, level, rule, key, weight);
    }
  }
}

void check_refused(const CheckContext& context) { check_config_numbers(context, 'U'); }
void check_taken(const CheckContext& context) { check_config_numbers(context, 'S'); }

void check_length(const CheckContext& context) {
  const JsonValue* length = member(context.on.text_config(), "max_position_embeddings");
  if (length == nullptr) return;
  if (*length == true) return;
  if (length->is_number() && *number(*length) >= 1) return;
  context.tell("config.json: max_position_embeddings", "{}; expected a number of tokens",
               length->dump());
}

const JsonValue* experts_of(const Subject& on) {
  for (const std::string_view key : split_words(kExpertCounts)) {
    if (const JsonValue* declared = on.text_field(key)) return declared;
  }
  return nullptr;
}

// Whether the program chooses experts by groups. llama.cpp does so for any model; for other
// programs, the class of transformers decides, by whether it has the field.
bool has_groups(const CheckContext& context) {
  const Family* family = family_of_type(context.on.text_type);
  if (family == nullptr || context.profile.runs_llama_server()) return true;
  const JsonValue* method = context.on.text_field("topk_method");
  const bool is_greedy = !context.profile.serves() && (method == nullptr || *method == "greedy");
  if (is_greedy && family->traits.text.has(ModelTrait::kGroupsByMethod)) return false;
  const Profile& reader = *find_profile("transformers-5");
  return !section_with(reader, "field n_group=", family->text_type()).empty();
}

// Checks the groups of experts that DeepSeek and similar models choose first.
void check_groups(const CheckContext& context) {
  if (!has_groups(context)) return;
  const uint64_t groups = whole(context.on.text_field("n_group")).value_or(0);
  const uint64_t count = whole(experts_of(context.on)).value_or(0);
  if (groups == 0 || count == 0) return;  // C21, C42, C43
  if (count % groups != 0) {
    context.tell("config.json: n_group", "{}, which does not divide {} experts", groups, count);
  }
  const auto most = whole(context.on.text_field("topk_group"));
  if (!most || *most <= groups) return;
  context.tell("config.json: topk_group", "{}; there are {} groups (n_group)", *most, groups);
}

// The padding token must have a row in the embedding, because the class looks that row up.
void check_padding(const CheckContext& context) {
  const Subject& on = context.on;
  const JsonValue* pad = on.text_field("pad_token_id");
  const JsonValue* size = on.text_field("vocab_size");
  if (pad == nullptr || size == nullptr || !pad->is_number_integer()) return;
  const bool is_read = has_listed(context.profile, "embeddings with padding", on.text_type, false);
  const auto rows = number(*size);
  if (!is_read || !rows || !(*rows > 0)) return;
  const double id = *number(*pad);
  if (id < *rows && id >= -*rows) return;
  context.tell(on.text_place("pad_token_id"), "{}; vocab_size is {}", pad->dump(), size->dump());
}

// The configuration fields that the family's GGUF key is made from.
std::string_view fields_of_key(const Family* family, std::string_view key) {
  const std::span<const KeyRule> none;
  for (const auto list : {family == nullptr ? none : family->keys, kCommonKeys}) {
    const auto found = std::ranges::find(list, key, &KeyRule::key);
    if (found != list.end()) return found->fields;
  }
  return {};
}

// The class's default may choose more experts than the model has.
void check_usual_experts(const CheckContext& context, const Family& family,
                         std::string_view fields) {
  const JsonValue& text = context.on.text_config();
  const auto is_there = [&](std::string_view field) { return member(text, field) != nullptr; };
  const auto experts = whole(experts_of(context.on));
  if (!experts || *experts == 0 || std::ranges::any_of(split_words(fields), is_there)) return;
  for (const auto field : split_words(fields)) {
    const auto usual = std::ranges::find(family.defaults, field, &ClassDefault::field);
    if (usual == family.defaults.end() || !are_digits(usual->value)) continue;
    const auto count = number_of_fields(family, JsonValue::object(), usual->value);
    if (!count || *count <= *experts) continue;
    context.tell(context.on.text_place(field),
                 "absent, which is {}; expected at most num_experts, {}", *count, *experts);
  }
}

// Checks how many experts compute each token.
void check_chosen_experts(const CheckContext& context) {
  const JsonValue* experts = experts_of(context.on);
  const uint64_t most = whole(experts).value_or(UINT64_MAX);
  const Family* family = family_of_type(context.on.text_type);
  const std::string_view fields = fields_of_key(family, "expert_used_count");
  if (family != nullptr) check_usual_experts(context, *family, fields);
  for (const auto field : split_words(fields)) {
    const JsonValue* chosen = member(context.on.text_config(), field);
    if (chosen == nullptr || (chosen->is_null() && experts == nullptr)) continue;
    // The field is one number for all layers, or a list with a number per layer.
    const bool is_listed = chosen->is_array() && chosen->size() > 1;
    const auto count = whole(is_listed ? *std::ranges::max_element(*chosen) : *chosen);
    if (count == 0 && most == 0) continue;  // a dense model of a class that can have experts
    if (count && *count > 0 && *count <= most) continue;
    const bool is_refused = !context.profile.serves() && !context.profile.has_transformers_4() &&
                            !chosen->is_number_integer() && !chosen->is_null();
    context.report(
        fmt::format("config.json: {}", field),
        fmt::format("{}; expected a whole number above zero, at most num_experts", chosen->dump()),
        is_refused ? std::optional(Severity::kUnloaded) : std::nullopt);
  }
}

// transformers builds masks and caches from the window, in some classes for all types of layers.
void check_window(const CheckContext& context) {
  const JsonValue& text = context.on.text_config();
  const std::vector<std::string> types = context.on.layer_types();
  const bool slides = std::ranges::find(types, "sliding_attention") != types.end();
  const bool is_patterned = member(text, "sliding_window_pattern") != nullptr;
  const std::string_view unlisted = is_patterned ? "patterned" : "unlisted";
  const std::string_view layers = types.empty() ? unlisted : slides ? "sliding" : "full";
  const auto kinds =
      section_with(context.profile, fmt::format("windows {}=", layers), context.on.text_type);
  const JsonValue* window = member(text, "sliding_window");
  const char kind = bad_value_letter(window);
  const bool is_refused = kinds.find(static_cast<char>(kind - 'a' + 'A')) != kinds.npos;
  if (kinds == "u") {
    context.report(context.on.text_place("layer_types"), "has sliding_attention, which fails here");
  } else if (is_refused || kinds.find(kind) != kinds.npos) {
    context.report(context.on.text_place("sliding_window"),
                   fmt::format("{}; expected the window of layers that slide",
                               window == nullptr ? "absent" : window->dump()),
                   is_refused ? std::optional(Severity::kUnloaded) : std::nullopt);
  } else if (kinds.ends_with('o') && !is_true(text, "use_sliding_window")) {
    context.report(context.on.text_place("use_sliding_window"),
                   "not true, and layer_types has sliding_attention");
  }
}

// Finds models that transformers builds but that fail at their first tokens.
void check_first_tokens(const CheckContext& context) {
  const JsonValue& text = context.on.text_config();
  if (context.profile.serves() || !text.is_object()) return;
  for (const auto& [field, value] : text.items()) {
    const auto kinds =
        section_with(context.profile, fmt::format("fails {}=", field), context.on.text_type);
    if (kinds.find(bad_value_letter(&value)) == kinds.npos) continue;
    context.tell(context.on.text_place(field),
                 "{}; expected a number that this class can compute with", value.dump());
  }
  check_window(context);
}

// Whether the program reads this epsilon. Classes save null for one that they do not have. True if
// the family is known and has no default for another epsilon.
bool reads_epsilon(const Subject& on, std::string_view key) {
  const Family* family = family_of_type(on.text_type);
  if (family == nullptr) return false;
  const auto is_epsilon = [](const ClassDefault& value) { return value.field.ends_with("_eps"); };
  const auto own = std::ranges::find_if(family->defaults, is_epsilon);
  return own == family->defaults.end() || own->field == key;
}

// These numbers are read while computing, or never, so they do not stop the loader.
void check_small_numbers(const CheckContext& context) {
  const Subject& on = context.on;
  for (const std::string_view key : {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"}) {
    const JsonValue* value = member(on.text_config(), key);
    if (value == nullptr || (value->is_null() && !reads_epsilon(on, key))) continue;
    const auto epsilon = number(*value);
    if (epsilon && *epsilon >= 0 && *epsilon < 1) continue;
    context.tell(fmt::format("config.json: {}", key), "{}; expected a small number above zero",
                 value->dump());
  }
  check_chosen_experts(context);
  check_first_tokens(context);
}

// Checks rope_theta next to the dictionary, and within it if the class reads only that.
void check_theta_number(const CheckContext& context) {
  const Subject& on = context.on;
  const bool is_class = !context.profile.serves();
  const JsonValue* theta =
      is_class ? member(on.text_config(), "rope_theta") : on.text_field("rope_theta");
  const JsonValue* rope = on.text_field("rope_scaling");
  if (rope == nullptr) rope = on.text_field("rope_parameters");
  const bool reads_inner =
      !context.profile.has_transformers_4() || has_trait(on.text_type, ModelTrait::kThetaInside);
  const bool is_unread = family_of_type(on.text_type) == nullptr || rotates_nothing(on) ||
                         has_trait(on.text_type, ModelTrait::kOtherTheta);
  if (is_class && is_unread) return;
  // transformers 5 reads the dictionary first; check C17 covers it.
  const bool has_inner = rope != nullptr && rope->is_object() && !rope->empty() &&
                         (rope->contains("rope_theta") || rope->begin()->is_object());
  if (is_class && reads_inner && has_inner) return;
  if (theta == nullptr && rope != nullptr && reads_inner && !is_class) {
    theta = member(*rope, "rope_theta");
  }
  if (theta == nullptr || counts_as_number(*theta)) return;
  const bool is_by_layer =
      theta->is_array() && has_trait(context.on.text_type, ModelTrait::kListsRopeTheta);
  if (is_by_layer && !context.is(Program::kTransformers)) return;
  context.tell("config.json: rope_theta", "{}; expected a number", theta->dump());
}

void check_rope_base(const CheckContext& context, const std::string& place, const JsonValue& base) {
  if (!base.is_number() || *number(base) > 0) return;  // C25
  context.tell(place, "{}; expected a number above zero", base.dump());
}

// Rotation divides by powers of these bases, wherever config.json has them.
void check_bases(const CheckContext& context) {
  const JsonValue& text = context.on.text_config();
  const JsonValue* positions = known(text, "position_embedding_type");
  if (positions != nullptr && *positions != "rope") return;
  const std::string prefix = context.on.text_place();
  for (const std::string_view key : {"rope_theta", "rope_local_base_freq", "local_rope_theta",
                                     "global_rope_theta", "rotary_emb_base"}) {
    if (const JsonValue* base = known(text, key))
      check_rope_base(context, prefix + std::string(key), *base);
  }
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const std::string place = fmt::format("{}{}.", prefix, key);
    for (const auto& [name, value] : object_in(text, key).items()) {
      const JsonValue* inner = known(value, "rope_theta");
      if (inner != nullptr)
        check_rope_base(context, fmt::format("{}{}.rope_theta", place, name), *inner);
      if (name == "rope_theta") check_rope_base(context, place + name, value);
    }
  }
}

constexpr Check kConfigNumberChecks[] = {
    {"C21", "sizes are whole numbers above zero", "U: vllm* sglang llama.cpp, W: tensorrt-llm",
     "Input should be a valid integer; unsupported operand type(s); negative dimension",
     kTakeConfig, check_refused},
    {"C22", "sizes are neither zero nor true or false",
     "S: vllm* sglang llama.cpp, W: tensorrt-llm",
     "loads with a part of the weights, and answers nonsense", kTakeConfig, check_taken},
    {"C23", "max_position_embeddings is a number of tokens",
     "U: vllm* sglang, W: tensorrt-llm llama.cpp",
     "'<' not supported between instances of 'str' and 'float'", kTakeConfig, check_length},
    {"C24", "numbers used only in computations have the right kind",
     "S: vllm* sglang llama.cpp transformers*, W: tensorrt-llm",
     "errors with the first request, or nonsense", kTakeConfig, check_small_numbers},
    {"C25", "rope_theta is a number", "U: vllm* sglang transformers*, W: tensorrt-llm llama.cpp",
     "unsupported operand type(s) for **", kTakeConfig, check_theta_number},
    {"C44", "rope_theta is above zero", "S: all", "NaN logits", kTakeConfig, check_bases},
    {"C45", "experts fall into groups of equal size",
     "S: vllm* sglang llama.cpp transformers*, W: tensorrt-llm",
     "shape '[-1, 3]' is invalid for input of size; selected index k out of range", kTakeConfig,
     check_groups},
    {"C46", "pad_token_id is in the vocabulary", "U: transformers*",
     "AssertionError: Padding_idx must be within num_embeddings", kTakeConfig, check_padding},
};

}  // namespace

std::span<const Check> config_number_checks() { return kConfigNumberChecks; }

}  // namespace ckpt
