// Checks the rotary embedding: its type must exist in the program and have all required numbers.
//
// Sources: vLLM vllm/transformers_utils/config.py (patch_rope_parameters) and
// model_executor/layers/rotary_embedding (get_rope) of 0.17.1 and 0.32.0; transformers
// src/transformers/modeling_rope_utils.py of 4.57.6 and 5.17.0.
// Numbers next to the dictionary (rope_theta, partial_rotary_factor) take precedence over its own.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::string_view kShare = "partial_rotary_factor";
constexpr std::string_view kRotaryPct = "rotary_pct", kRotaryFraction = "rotary_emb_fraction";

struct RopeType {
  std::string_view name;
  std::string_view numbers = {};  // keys that must hold numbers, separated by spaces
  std::string_view lists = {};    // keys that must hold a number per rotated pair
};
constexpr RopeType kTypes[] = {
    {"default"},
    {"mllama4"},
    {"linear", "factor"},
    {"ntk", "factor"},
    {"dynamic", "factor"},  // or alpha
    {"yarn", "factor original_max_position_embeddings"},
    {"deepseek_yarn", "factor original_max_position_embeddings"},
    {"deepseek_llama_scaling", "factor original_max_position_embeddings"},
    {"llama3", "factor low_freq_factor high_freq_factor original_max_position_embeddings"},
    {"longrope", "original_max_position_embeddings", "short_factor long_factor"},
    {"xdrope", "alpha"},
    {"openpangu"},
    {"proportional"},
    {"bailing_mrope"}};
// Types of other programs: transformers looks each up in ROPE_INIT_FUNCTIONS, SGLang 0.5.12 in
// get_rope (layers/rotary_embedding/factory.py); llama.cpp's converter ignores all types except
// these (conversion/base.py).
constexpr std::string_view kTransformersTypes =
    " default linear dynamic yarn longrope llama3 proportional ";
constexpr std::string_view kSglangTypes =
    " default linear dynamic yarn deepseek_yarn longrope llama3 proportional ";
constexpr std::string_view kConvertedTypes = " default linear yarn longrope llama3 proportional ";
constexpr std::string_view kLaterTypes = " proportional bailing_mrope ";
constexpr std::string_view kRopeLayerTypes =
    " full_attention sliding_attention chunked_attention linear_attention ";

// A rope dictionary, and the configuration that contains it.
struct Rope {
  std::string place;
  const JsonValue* declared;
  const JsonValue* around;
  bool is_first;  // the dictionary has precedence over numbers next to it, as in transformers 5

  // Finds the number in the dictionary, or next to it for those that may be there.
  const JsonValue* find(std::string_view key) const {
    const JsonValue* inner = known(*declared, key);
    const bool is_beside =
        has_word(" rope_theta partial_rotary_factor original_max_position_embeddings ", key);
    const JsonValue* outer = is_beside ? known(*around, key) : nullptr;
    const bool takes_inner = inner != nullptr && (is_first || outer == nullptr);
    return takes_inner ? inner : outer;
  }
};

// rope_scaling has precedence over rope_parameters. A nested dictionary yields one per layer type.
std::vector<Rope> ropes_of(const CheckContext& context) {
  const bool is_first = !context.profile.has_transformers_4();
  std::vector<Rope> out;
  const JsonValue& text = context.on.text_config();
  const std::string prefix = context.on.text_place();
  // Some classes of 4.57 define rope_scaling themselves, which replaces rope_parameters.
  const bool has_own = !is_first && has_trait(context.on.text_type, ModelTrait::kOwnRopeScaling);
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const JsonValue* declared = known(text, key);
    if (declared == nullptr || (has_own && key == "rope_parameters")) continue;
    const std::string place = fmt::format("{}{}", prefix, key);
    const bool is_nested = declared->is_object() && !declared->empty() &&
                           std::ranges::all_of(declared->items(), [](auto& item) {
                             return has_word(kRopeLayerTypes, item.key());
                           });
    if (!is_nested) return {{place, declared, &text, is_first}};
    for (const auto& item : declared->items()) {
      out.push_back({fmt::format("{}.{}", place, item.key()), &item.value(), &text, is_first});
    }
    return out;
  }
  return out;
}

// The share of a head's values that is rotated; negative: not a number. In 4.57, a class's default
// has precedence over the dictionary.
double rotated_share(const Subject& on, const Rope& rope) {
  const double usual = traits_of(on.text_type).rotated_share;
  const bool has_default = usual != 0 && !rope.is_first && member(*rope.around, kShare) == nullptr;
  const JsonValue* share = has_default ? nullptr : rope.find(kShare);
  if (share == nullptr) return usual == 0 ? 1 : usual;
  if (share->is_boolean()) return share->get<bool>() ? 1 : 0;
  return number(*share).value_or(-1);
}

// The number of rotated pairs of values; nullopt if the configuration does not determine it.
std::optional<uint64_t> rotated_pairs(const Subject& on, const Rope& rope) {
  const JsonValue& text = on.text_config();
  const JsonValue* head = known(text, "head_dim");
  uint64_t size = whole(head).value_or(0);
  const uint64_t count = whole(known(text, "num_attention_heads")).value_or(0);
  if (head == nullptr && count != 0) size = whole(known(text, "hidden_size")).value_or(0) / count;
  const double share = rotated_share(on, rope);
  if (size == 0 || !(share > 0 && share <= 1)) return std::nullopt;
  return static_cast<uint64_t>(static_cast<double>(size) * share) / 2;
}

const JsonValue* declared_rope_type(const JsonValue& rope) {
  const JsonValue* name = member(rope, "rope_type");
  return name != nullptr ? name : member(rope, "type");
}

std::string type_of(const Rope& rope) {
  const JsonValue* name = declared_rope_type(*rope.declared);
  if (name == nullptr) return {};
  const auto* text = name->get_ptr<const std::string*>();
  if (text == nullptr) return name->dump();
  return *text == "su" ? "longrope" : *text;
}

constexpr std::string_view kLength = "original_max_position_embeddings";

std::string not_a_number(std::string_view key, const JsonValue& value) {
  return fmt::format("{} is {}; expected a number", key, value.dump());
}

std::string other_length(std::string_view key, const JsonValue& list, uint64_t pairs) {
  return fmt::format("{} has {} numbers; {} pairs are rotated", key, list.size(), pairs);
}

// The fault of the numbers that `type` needs, or "".
std::string fault_of_numbers(const Rope& rope, const RopeType& type,
                             std::optional<uint64_t> pairs) {
  if (type.name == "dynamic" && rope.find("alpha") != nullptr) return {};
  for (const std::string_view key : split_words(type.numbers)) {
    const JsonValue* value = rope.find(key);
    // 5.x uses max_position_embeddings instead.
    if (value == nullptr && rope.is_first && key == kLength) continue;
    if (value == nullptr) return fmt::format("type '{}' without {}", type.name, key);
    if (*value == true) continue;  // counts as 1
    if (!value->is_number()) return not_a_number(key, *value);
    const bool divides = key == kLength && type.name != "llama3";
    if (divides && *number(*value) == 0) {
      return fmt::format("{} is 0; expected a number above 0", key);
    }
    const bool scales_length = key == "factor" && type.name != "llama3";
    if (scales_length && !(*number(*value) > 0)) {
      return fmt::format("factor is {}; expected a number above 0", value->dump());
    }
  }
  for (const std::string_view key : split_words(type.lists)) {
    const JsonValue* value = rope.find(key);
    if (value == nullptr) return fmt::format("type '{}' without {}", type.name, key);
    if (!value->is_array()) return fmt::format("{} is not a list", key);
    if (pairs && value->size() != *pairs) return other_length(key, *value, *pairs);
  }
  return {};
}

bool has_rope_by_layer(const Subject& on) {
  return find_by(kRopeByLayerType, &RopeByLayerType::model_type, on.text_type) != nullptr;
}

// The fault of a type name that transformers looks up when it builds the class, or "".
std::string fault_of_name(const Subject& on, const Rope& rope) {
  if (family_of_type(on.text_type) == nullptr || rotates_nothing(on)) return {};
  const JsonValue* as_said = declared_rope_type(*rope.declared);
  const bool is_old_key = member(*rope.declared, "rope_type") == nullptr;
  if (as_said == nullptr) return {};
  const Traits& traits = traits_of(on.text_type);
  const std::string name = type_of(rope);
  const bool is_long = traits.has(ModelTrait::kRopeOfThreeFields);
  const bool is_unread = is_old_key && (rope.is_first ? has_rope_by_layer(on)
                                                      : traits.has(ModelTrait::kNeedsRopeType));
  const bool takes_mrope = traits.has(ModelTrait::kTakesMrope) && (rope.is_first || is_old_key);
  if (is_unread || (name == "mrope" && takes_mrope)) return {};
  const std::string_view types = is_long ? " default longrope yarn " : kTransformersTypes;
  const bool is_known = has_word(types, name) && (is_long || *as_said != "su") &&
                        (rope.is_first || name != "proportional");
  return is_known ? "" : fmt::format("type {}, which the class does not have", as_said->dump());
}

// The fault of lists of factors. Phi-3's class checks their length; others only warn about it.
std::string fault_of_pairs(const Subject& on, const Rope& rope) {
  const bool is_measured = has_trait(on.text_type, ModelTrait::kRopeOfThreeFields);
  const JsonValue* share = member(*rope.declared, kShare);
  if (is_measured && share != nullptr && !counts_as_number(*share))
    return not_a_number(kShare, *share);
  const auto pairs = rotated_pairs(on, rope);
  for (const std::string_view key : {"short_factor", "long_factor"}) {
    const JsonValue* value = member(*rope.declared, key);
    if (value == nullptr) continue;
    if (value->is_null() || counts_as_number(*value)) return fmt::format("{} is not a list", key);
    if (!is_measured) continue;
    if (!value->is_array() || !std::ranges::all_of(*value, counts_as_number)) {
      return fmt::format("{} is not a list of numbers", key);
    }
    if (pairs && value->size() != *pairs) return other_length(key, *value, *pairs);
  }
  return {};
}

// The fault of numbers that transformers 5 compares or divides by while reading (validate_rope). It
// only warns about others.
std::string fault_of_compared(const Subject& on, const Rope& rope, std::string_view name) {
  const JsonValue& declared = *rope.declared;
  if (!rope.is_first || family_of_type(on.text_type) == nullptr) return {};
  if (name == "longrope") return fault_of_pairs(on, rope);
  const JsonValue* length = member(declared, kLength);
  if (length != nullptr && (name == "yarn" || name == "llama3")) {
    if (!counts_as_number(*length)) return not_a_number(kLength, *length);
    if (name == "yarn" && !is_truthy(length)) {
      return fmt::format("{} is {}; expected a number above 0", kLength, length->dump());
    }
  }
  for (const std::string_view key : {"beta_fast", "beta_slow"}) {
    const JsonValue* value = name == "yarn" ? member(declared, key) : nullptr;
    if (is_truthy(value) && !counts_as_number(*value)) return not_a_number(key, *value);
  }
  return {};
}

// The fault of missing keys. While reading, transformers computes nothing but checks the keys of
// the types that it knows; 4.57 does so only for rope_scaling.
std::string fault_of_keys(const Subject& on, const Rope& rope) {
  const bool is_scaling = rope.place.ends_with("rope_scaling");
  if (!rope.is_first && !is_scaling) return {};
  if (!rope.declared->is_object()) return no_object(*rope.declared);
  const std::string name = type_of(rope);
  const JsonValue* theta = member(*rope.declared, "rope_theta");
  const bool is_base = theta == nullptr || counts_as_number(*theta);
  if (rope.is_first && !is_base && !rotates_nothing(on)) return not_a_number("rope_theta", *theta);
  if (name.empty()) return rope.is_first ? "" : "no rope_type";
  if (std::string fault = fault_of_name(on, rope); !fault.empty()) return fault;
  const std::string* as_said = text_of(*rope.declared, "rope_type");
  const bool is_known = has_word(" linear dynamic yarn longrope llama3 ", name);
  if (!is_known || (as_said != nullptr && *as_said == "su")) return {};
  const RopeType* type = find_by(kTypes, &RopeType::name, name);
  for (const std::string_view list : {type->numbers, type->lists}) {
    for (const std::string_view key : split_words(list)) {
      if (key == kLength && name != "llama3") continue;
      // 5.x only warns about null.
      const bool is_there = rope.is_first && member(*rope.declared, key) != nullptr;
      if (!is_there && rope.find(key) == nullptr) {
        return fmt::format("type '{}' without {}", name, key);
      }
    }
  }
  return fault_of_compared(on, rope, name);
}

// Whether transformers' own functions compute the type.
bool is_scaled(const Subject& on, const Rope& rope) {
  // Version 5 ignores one dictionary if it expects one per layer type; 4.57 reads only
  // rope_scaling.
  const bool is_read = rope.is_first
                           ? !has_rope_by_layer(on) || !rope.place.ends_with("rope_parameters")
                           : rope.place.ends_with("rope_scaling");
  return is_read && rope.declared->is_object() && family_of_type(on.text_type) != nullptr &&
         !rotates_nothing(on) && has_word(" linear dynamic yarn longrope llama3 ", type_of(rope));
}

bool is_one(const JsonValue* value) {
  return value != nullptr && (*value == true || number(*value) == 1);
}
bool is_zero(const JsonValue& value) { return counts_as_number(value) && !is_truthy(&value); }

// The fault of numbers that transformers divides by or computes with when it builds the model.
std::string fault_of_divisors(const Subject& on, const Rope& rope) {
  if (!is_scaled(on, rope)) return {};
  const std::string name = type_of(rope);
  const JsonValue* factor = name == "longrope" ? nullptr : member(*rope.declared, "factor");
  const bool may_be_null = rope.is_first && name == "yarn";
  if (factor != nullptr && !counts_as_number(*factor) && !(factor->is_null() && may_be_null)) {
    return not_a_number("factor", *factor);
  }
  for (const std::string_view key : {"low_freq_factor", "high_freq_factor"}) {
    const JsonValue* value = name == "llama3" ? member(*rope.declared, key) : nullptr;
    if (value == nullptr) continue;
    if (!counts_as_number(*value)) return not_a_number(key, *value);
    if (is_zero(*value)) return fmt::format("{} is {}, by which it divides", key, value->dump());
  }
  const JsonValue* base =
      rope.is_first ? rope.find("rope_theta") : known(*rope.around, "rope_theta");
  if (name == "yarn" && is_one(base)) return "rope_theta is 1, by whose logarithm yarn divides";
  return {};
}

// Whether the factor is zero, which makes every frequency infinite.
bool is_divided_by_zero(const CheckContext& context, const Rope& rope) {
  if (context.profile.serves() || !is_scaled(context.on, rope)) return false;
  const JsonValue* factor = known(*rope.declared, "factor");
  return factor != nullptr && is_zero(*factor) && has_word(" linear yarn llama3 ", type_of(rope));
}

std::string no_number_of(const JsonValue& declared, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!number(member(declared, key))) return fmt::format("{} is not a number", key);
  }
  return {};
}

// The fault that the class of 4.57 finds in rope_scaling, or "".
std::string fault_of_class(const Subject& on, const Rope& rope) {
  const JsonValue& declared = *rope.declared;
  if (!declared.is_object()) return {};
  const std::string* type = text_of(declared, "type");
  const Traits& traits = traits_of(on.text_type);
  if (traits.has(ModelTrait::kRopeOfTwoFields)) {
    const JsonValue* factor = known(declared, "factor");
    const bool is_scaling = type != nullptr && has_word(" linear dynamic ", *type);
    const bool fits = declared.size() == 2 && is_scaling && factor != nullptr &&
                      factor->is_number_float() && *factor > 1;
    return fits ? "" : "expected the fields type, linear or dynamic, and factor, above 1.0";
  }
  if (traits.has(ModelTrait::kRopeOfThreeFields)) {
    const bool is_long = type != nullptr && has_word(" longrope su yarn ", *type);
    return declared.size() == 3 && is_long
               ? ""
               : "expected the fields type, longrope, short_factor and long_factor";
  }
  if (traits.has(ModelTrait::kComputesMscales)) {
    std::string fault = no_number_of(declared, {"short_mscale", "long_mscale"});
    if (!fault.empty()) return fault;
  }
  const bool is_asked = type != nullptr && text_of(declared, "rope_type") == nullptr &&
                        has_word(" default linear dynamic yarn longrope llama3 ", *type);
  if (is_asked && traits.has(ModelTrait::kNeedsRopeType)) {
    return "type, without rope_type, which this class reads";
  }
  return {};
}

// The fault of the numbers that yarn computes with, or "".
std::string fault_of_yarn(const JsonValue& declared, bool is_deepseek) {
  for (const std::string_view key : {"mscale", "mscale_all_dim", "beta_fast", "beta_slow",
                                     "attn_factor", "extrapolation_factor"}) {
    if (!is_deepseek && key.starts_with("mscale")) continue;
    const JsonValue* value = member(declared, key);
    if (value != nullptr && !counts_as_number(*value)) return not_a_number(key, *value);
  }
  return {};
}

// Older vLLM computes yarn for some classes whatever type is declared, and needs its fields.
std::string fault_of_length(const CheckContext& context, const Rope& rope) {
  const JsonValue& declared = *rope.declared;
  const bool is_asked = context.is(Program::kVllm) && declared.is_object() &&
                        context.profile.has_transformers_4() &&
                        !has_trait(context.on.model_type, ModelTrait::kYarnWithoutLength);
  if (!is_asked) return {};
  const Family* table = context.on.parameters.table;
  if (table != nullptr && table->traits.text.has(ModelTrait::kYarnOfAnyType)) {
    std::string fault = no_number_of(declared, {"factor", kLength, "beta_fast", "beta_slow"});
    if (!fault.empty()) return fault;
  }
  if (type_of(rope) != "yarn" || rope.find(kLength) != nullptr) return {};
  return fmt::format("type 'yarn' without {}", kLength);
}

std::string fault_of_program(const CheckContext& context, const std::string& name) {
  const bool is_known_here = family_of_type(context.on.text_type) != nullptr;
  const Program program = context.profile.program;
  if (is_known_here && program == Program::kSglang && !has_word(kSglangTypes, name)) {
    return fmt::format("type '{}', which {} does not have", name, context.profile.help);
  }
  const Family* table = context.on.parameters.table;
  const auto takes_alpha = [](const KeyRule& rule) {
    return rule.source == KeySource::kAlphaRope || rule.source == KeySource::kXdRope;
  };
  const bool has_alpha = name == "dynamic" || name == "xdrope";
  if (has_alpha && table != nullptr && std::ranges::any_of(table->keys, takes_alpha)) return {};
  if (is_known_here && program == Program::kLlamaCpp && !has_word(kConvertedTypes, name)) {
    return fmt::format("type '{}', which the converter ignores", name);
  }
  return {};
}

std::string fault_of(const CheckContext& context, const Rope& rope) {
  const bool is_scaling = rope.place.ends_with("rope_scaling");
  if (!context.profile.serves()) {
    std::string fault = rope.is_first || !is_scaling ? "" : fault_of_class(context.on, rope);
    if (fault.empty()) fault = fault_of_keys(context.on, rope);
    return fault.empty() ? fault_of_divisors(context.on, rope) : fault;
  }
  if (std::string fault = fault_of_length(context, rope); !fault.empty()) return fault;
  const bool is_read = rope.declared->is_object() || !is_truthy(rope.declared);
  const Traits& traits = traits_of(context.on.text_type);
  if (is_read && rotates_nothing(context.on)) return {};
  const bool is_old_class = context.profile.has_transformers_4();
  if (is_old_class && is_scaling) {
    std::string fault = fault_of_class(context.on, rope);
    if (!fault.empty()) return fault;
    if (traits.has(ModelTrait::kAlwaysYarn)) fault = fault_of_keys(context.on, rope);
    if (!fault.empty()) return fault;
    const bool asks = !traits.has(ModelTrait::kAsksNothingOfRope);
    if (!asks && !is_truthy(rope.declared)) return {};
  }
  const JsonValue& declared = *rope.declared;
  // An empty dictionary counts as absent, except for the classes of transformers.
  const bool is_checked_by_class =
      is_scaling && !traits.has(ModelTrait::kThetaInside) && !rope.is_first;
  if (!is_truthy(&declared) && !is_checked_by_class) return {};
  if (!declared.is_object()) return no_object(declared);
  const std::string name = type_of(rope);
  if (name.empty()) return rope.is_first ? "" : "no rope_type";  // 5.x then uses "default"
  if (name == "mrope") {
    return member(declared, "mrope_section") == nullptr ? "type 'mrope' without mrope_section" : "";
  }
  const bool is_deepseek =
      context.is(Program::kVllm) && traits.has(ModelTrait::kAlwaysYarn) && name != "default";
  const std::string_view computed = is_deepseek ? "deepseek_yarn" : std::string_view(name);
  if (computed.ends_with("yarn")) {
    std::string fault = fault_of_yarn(declared, is_deepseek);
    if (!fault.empty()) return fault;
    const auto base = number(rope.find("rope_theta"));
    if (base && *base <= 0) return fmt::format("rope_theta is {}, without a logarithm", *base);
  }
  const RopeType* type = find_by(kTypes, &RopeType::name, computed);
  const bool is_later = has_word(kLaterTypes, computed) &&
                        !has_listed(context.profile, "rope types", computed, false);
  const bool is_free = !is_scaling && runs_by_fallback(context.profile, context.on.model_class);
  const bool has_types = context.is(Program::kVllm) && !is_free;
  if (std::string fault = fault_of_program(context, name); !fault.empty()) return fault;
  if (type == nullptr || is_later || is_free) {
    // transformers accepts unknown types with a warning.
    return has_types ? fmt::format("type '{}', which {} does not have", name, context.profile.help)
                     : std::string();
  }
  return fault_of_numbers(rope, *type, rotated_pairs(context.on, rope));
}

// Some classes of 4.57 use yarn by default, which divides this length by another.
void check_divided_length(const CheckContext& context) {
  const Subject& on = context.on;
  const bool is_asked = context.is(Program::kTransformers) &&
                        context.profile.has_transformers_4() &&
                        has_trait(on.text_type, ModelTrait::kOwnRopeScaling);
  const JsonValue* length = member(on.text_config(), "max_position_embeddings");
  const JsonValue* declared = member(on.text_config(), "rope_scaling");
  const bool divides =
      declared == nullptr || known(*declared, "original_max_position_embeddings") != nullptr;
  if (!is_asked || !divides || length == nullptr || counts_as_number(*length)) return;
  context.report(on.text_place("max_position_embeddings"),
                 fmt::format("{}; expected a number, which yarn divides", length->dump()), {},
                 "unsupported operand type(s) for /");
}

void check_rope_words(const CheckContext& context) {
  check_divided_length(context);
  for (const Rope& rope : ropes_of(context)) {
    std::string fault = fault_of(context, rope);
    if (!fault.empty()) {
      context.report(rope.place, std::move(fault));
    } else if (is_divided_by_zero(context, rope)) {
      context.report(rope.place, "factor is 0; expected a number above 0", Severity::kUnsound,
                     "NaN logits");
    }
  }
  // The dictionary of a vision part is read but not used.
  const JsonValue* rope = known(known(context.on.config, "vision_config"), "rope_parameters");
  if (rope == nullptr) return;
  if (declared_rope_type(*rope) == nullptr) {
    context.report("config.json: vision_config.rope_parameters", "no rope_type");
  }
}

// The sections of M-RoPE must add up to half of the rotated values.
void check_sections(const CheckContext& context) {
  for (const Rope& rope : ropes_of(context)) {
    const JsonValue* sections = known(*rope.declared, "mrope_section");
    const auto pairs = rotated_pairs(context.on, rope);
    const std::string type = type_of(rope);
    if (!is_truthy(sections) || (type != "default" && type != "mrope")) continue;
    if (!sections->is_array()) {
      context.report(rope.place + ".mrope_section", "no list");
      continue;
    }
    double sum = 0;
    for (const JsonValue& section : *sections) sum += number(section).value_or(0);
    if (!pairs || sum == static_cast<double>(*pairs)) continue;
    context.tell(rope.place + ".mrope_section", "sums to {}; half of the rotary dimension is {}",
                 sum, *pairs);
  }
}

// vLLM moves a share outside any dictionary, under any of these names, into a dictionary.
void check_lone_share(const CheckContext& context) {
  if (!context.is(Program::kVllm)) return;
  const Traits& traits = traits_of(context.on.text_type);
  if (traits.has(ModelTrait::kMayRotateNothing)) return;
  // The class replaces one name by the other.
  const bool is_unread = traits.has(ModelTrait::kIgnoresPartialRotaryFactor);
  const std::string_view unread = is_unread ? kShare : "";
  for (const std::string_view key : {kShare, kRotaryPct, kRotaryFraction}) {
    const JsonValue* declared = key == unread ? nullptr : context.on.text_field(key);
    if (declared == nullptr) continue;
    const double share = *declared == true ? 1 : number(*declared).value_or(-1);
    if (share > 0 && share <= 1) return;
    return context.tell(fmt::format("config.json: {}", key),
                        "{}; expected a number above 0, at most 1", declared->dump());
  }
}

// Classes of transformers that rotate entire heads fail if the cosines cover only a part. 4.57
// reads the share next to the dictionary for any type; 5 reads it inside, for types that scale.
void check_whole_heads(const CheckContext& context) {
  const Subject& on = context.on;
  const bool is_whole = has_listed(context.profile, "rotates whole heads", on.text_type, false);
  if (!is_whole || rotates_nothing(on)) return;
  std::vector<const JsonValue*> shares;
  if (context.profile.has_transformers_4()) {
    shares.push_back(member(on.text_config(), kShare));
  } else {
    for (const Rope& rope : ropes_of(context)) {
      if (!is_scaled(on, rope)) continue;
      const JsonValue* inner = member(*rope.declared, kShare);
      shares.push_back(inner == nullptr ? known(*rope.around, kShare) : inner);
    }
  }
  for (const JsonValue* share : shares) {
    if (share == nullptr || is_one(share)) continue;
    return context.report(
        on.text_place(kShare), fmt::format("{}; this class rotates all of a head", share->dump()),
        Severity::kUnsound, "The size of tensor a must match the size of tensor b");
  }
}

void check_share(const CheckContext& context) {
  if (!context.profile.serves()) return check_whole_heads(context);
  const std::vector<Rope> ropes = ropes_of(context);
  if (ropes.empty()) check_lone_share(context);
  for (const Rope& rope : ropes) {
    if (!rope.declared->is_object()) continue;
    const double share = rotated_share(context.on, rope);
    if (share > 0 && share <= 1) continue;
    context.tell("config.json: partial_rotary_factor", "{}; expected a number above 0, at most 1",
                 rope.find(kShare)->dump());
  }
}

double default_theta(const Family& table) {
  double out = 0;
  for (const ClassDefault& entry : table.defaults) {
    if (entry.field == "rope_theta") out = std::stod(std::string(entry.value));
  }
  return out;
}

// Classes of transformers 4.57 read rope_theta only next to the dictionary. If it is only inside,
// as 5.x writes it, they use their default.
void check_theta(const CheckContext& context) {
  if (context.on.text_field("rope_theta") != nullptr) return;
  if (!has_trait(context.on.text_type, ModelTrait::kThetaOutside)) return;
  const double usual = default_theta(*table_of_model_type(context.on.text_type));
  for (const Rope& rope : ropes_of(context)) {
    const JsonValue* theta = known(*rope.declared, "rope_theta");
    if (theta == nullptr || number(*theta) == usual) continue;
    context.tell(rope.place + ".rope_theta",
                 "{}, not set next to it; transformers 4.57 then uses {}", theta->dump(), usual);
  }
}

constexpr Check kRopeChecks[] = {
    {"C17", "the rope type is known and complete",
     "U: vllm* sglang transformers*, W: tensorrt-llm llama.cpp",
     "KeyError: 'factor'; Unknown RoPE scaling type; rope_parameters should have a 'rope_type' key",
     kTakeConfig, check_rope_words},
    {"C18", "mrope_section fits the rotary dimension",
     "U: vllm*, W: sglang tensorrt-llm llama.cpp transformers*", "AssertionError", kTakeConfig,
     check_sections},
    {"C19", "partial_rotary_factor is a share",
     "U: vllm* sglang, S: transformers*, W: tensorrt-llm llama.cpp",
     "partial_rotary_factor must be between 0.0 and 1.0", kTakeConfig, check_share},
    {"C20", "rope_theta is where the reader looks", "S: vllm-tf4 transformers-4",
     "loads, and answers get worse the longer the text is", "", check_theta, "serving-config"},
};

}  // namespace

std::span<const Check> rope_checks() { return kRopeChecks; }

}  // namespace ckpt
