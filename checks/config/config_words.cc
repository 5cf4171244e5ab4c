// Checks the words of config.json and the kinds of its parts: dtypes, activations, classes, layer
// types, nested configurations.
//
// Sources: transformers 4.57.6 src/transformers/configuration_utils.py (dtype, layer types); vLLM
// vllm/config/model.py, model_executor/models/registry.py, models/llama.py, qwen2.py, qwen3.py,
// qwen3_next.py and layers/activation.py of 0.17.1.
// Without `architectures` vLLM loads the base model of model_type and serves it for embeddings.
#include <algorithm>
#include <tuple>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::string_view kDtypes =
    " float32 float16 bfloat16 float64 float half double int8 int16 int32 int64 uint8 bool"
    " float8_e4m3fn float8_e5m2 float4_e2m1fn_x2 ";
// Activations of vLLM for feed-forward parts without a gate, and with one.
constexpr std::string_view kActivations =
    " gelu gelu_fast gelu_new gelu_pytorch_tanh relu relu2 silu quick_gelu tanh sigmoid xielu ";
constexpr std::string_view kGatedActivations = " gelu silu geglu swigluoai ";
// Activations of SGLang's classes that look up any activation.
constexpr std::string_view kSglangActivations = " gelu gelu_pytorch_tanh gelu_new relu2 xielu ";
// From transformers 5.17.0 src/transformers/activations.py (ACT2CLS).
constexpr std::string_view kAllActivations =
    " gelu gelu_10 gelu_fast gelu_new gelu_python gelu_pytorch_tanh gelu_python_tanh gelu_accurate"
    " hardswish laplace leaky_relu linear mish quick_gelu relu relu2 relu6 sigmoid silu"
    " sqrtsoftplus swish tanh prelu xielu ";
// Names of the same function, up to rounding.
constexpr std::string_view kSameActivations[] = {
    " silu swish ",
    " gelu gelu_fast gelu_new gelu_python gelu_pytorch_tanh gelu_python_tanh gelu_accurate "};
// Other places where servers look up an activation: vLLM, and SGLang for text models.
//   level   place of the field: "text_config", "vision_config", or "" for the wrapper itself
//   trait   of the text part's type or, for a tower, of the wrapper's type
//   known   the accepted names; upper case is accepted too if `folds` is set
struct ActivationRule {
  std::string_view level, field;
  ModelTrait trait;
  std::string_view known;
  bool folds = false;
};
constexpr ActivationRule kActivationRules[] = {
    {"text_config", "hidden_act", ModelTrait::kActivationSilu, " silu "},
    {"text_config", "hidden_act", ModelTrait::kActivationRelu2, " relu2 "},
    {"text_config", "hidden_act", ModelTrait::kActivationAny, kActivations, true},
    {"text_config", "hidden_activation", ModelTrait::kActivationGelu, " gelu gelu_pytorch_tanh "},
    {"text_config", "hidden_activation", ModelTrait::kActivationGeluTanh, " gelu_pytorch_tanh "},
    {"text_config", "hidden_activation", ModelTrait::kTwoActivations, " gelu_pytorch_tanh "},
    {"text_config", "hidden_act", ModelTrait::kTwoActivations, " gelu_pytorch_tanh "},
    {"vision_config", "hidden_act", ModelTrait::kVisionActivationExact, kActivations},
    {"vision_config", "hidden_act", ModelTrait::kVisionActivationGated, kGatedActivations, true},
    {"vision_config", "hidden_act", ModelTrait::kVisionActivationAny, kActivations, true},
    {"", "projector_hidden_act", ModelTrait::kProjectorActivation, kActivations, true},
};

// Checks the dtype of the configuration and of its parts.
void check_dtype_word(const CheckContext& context) {
  for (const std::string_view level : {"", "text_config.", "vision_config."}) {
    const JsonValue& json = level.empty()
                                ? context.on.config
                                : object_in(context.on.config, level.substr(0, level.size() - 1));
    std::string_view key = "dtype";
    const JsonValue* declared = known(json, key);
    if (declared == nullptr) declared = known(json, key = "torch_dtype");
    if (declared == nullptr) continue;
    const auto* name = declared->get_ptr<const std::string*>();
    const bool is_wrong = name != nullptr ? !has_word(kDtypes, *name) : declared->is_array();
    if (!is_wrong) continue;
    context.tell(fmt::format("config.json: {}{}", level, key), "{}, which PyTorch does not have",
                 declared->dump());
  }
}

// Whether the model has dense layers, which read the field. Experts of these families use silu.
bool has_dense_part(const Subject& on) {
  if (!has_trait(on.text_type, ModelTrait::kSiluExperts)) return true;
  return std::ranges::any_of(on.modules, [](const auto& entry) {
    const std::string& name = entry.first;
    return name.ends_with(".mlp.gate_proj") || name.find("shared_") != name.npos;
  });
}

// Whether the server looks up the activation that `rule` describes.
bool holds(const CheckContext& context, const ActivationRule& rule) {
  const bool is_text = rule.level == "text_config";
  const std::string_view type =
      is_text ? ruling_type(context) : std::string_view(context.on.model_type);
  if (!has_trait(type, rule.trait)) return false;
  if (context.is(Program::kVllm)) return is_text || context.on.has_vision_tensors();
  return context.is(Program::kSglang) && is_text && rule.trait != ModelTrait::kActivationGelu;
}

void check_activation_rules(const CheckContext& context) {
  const Subject& on = context.on;
  for (const ActivationRule& rule : kActivationRules) {
    if (!holds(context, rule)) continue;
    const bool is_text = rule.level == "text_config";
    const bool takes_fewer =
        context.is(Program::kSglang) && rule.trait == ModelTrait::kActivationAny;
    const std::string_view taken = takes_fewer ? kSglangActivations : rule.known;
    const JsonValue* level = rule.level.empty() ? &on.config : nullptr;
    if (is_text) level = &on.text_config();
    if (level == nullptr) level = known(on.config, rule.level);
    const JsonValue* declared = member(level, rule.field);
    if (declared == nullptr) continue;
    const bool may_be_null = rule.trait == ModelTrait::kActivationGelu || rule.level.empty();
    if (declared->is_null() && may_be_null) continue;
    const auto* name = declared->get_ptr<const std::string*>();
    const bool is_known =
        name != nullptr && has_word(taken, rule.folds ? lower_case(*name) : *name);
    if (is_known) continue;
    const std::string_view end = rule.level.empty() ? "" : ".";
    const std::string place = is_text
                                  ? on.text_place(rule.field)
                                  : fmt::format("config.json: {}{}{}", rule.level, end, rule.field);
    const auto severity =
        is_text && !has_dense_part(on) ? std::optional(Severity::kUnsound) : std::nullopt;
    context.report(place,
                   fmt::format("{}, which this server does not take; it takes{}", declared->dump(),
                               taken.substr(0, taken.size() - 1)),
                   severity);
  }
}

bool is_same_activation(const std::string& name, std::string_view other) {
  return name == other || std::ranges::any_of(kSameActivations, [&](std::string_view names) {
           return has_word(names, name) && has_word(names, other);
         });
}

// Classes of transformers use the activation in the field; others always use the family's.
void check_family_activation(const CheckContext& context, const Family& family) {
  const std::string_view type = ruling_type(context);
  const bool is_vllm = context.is(Program::kVllm);
  const bool is_server = context.is_server();
  const bool is_asked = is_server && has_trait(type, ModelTrait::kOnlySilu);
  for (const std::string_view field : split_words(family.activation.fields)) {
    const JsonValue* declared = member(context.on.text_config(), field);
    if (declared == nullptr || (declared->is_null() && !is_asked)) continue;
    const bool is_looked_up =
        std::ranges::any_of(kActivationRules, [&](const ActivationRule& rule) {
          return rule.level == "text_config" && rule.field == field && holds(context, rule);
        });
    if (is_looked_up) continue;
    const auto* name = declared->get_ptr<const std::string*>();
    const std::string_view own = family.activation.name;
    if (name != nullptr && (is_asked ? *name == own : is_same_activation(*name, own))) continue;
    const bool is_passed = is_vllm && !has_dense_part(context.on);
    context.report(
        fmt::format("config.json: {}", field),
        fmt::format("{}; models of type {} have \"{}\"", declared->dump(), type, own),
        is_server && (!is_asked || is_passed) ? std::optional(Severity::kUnsound) : std::nullopt);
  }
}

bool looks_up_in_tower(const Traits& traits) {
  return std::ranges::any_of(kActivationRules, [&](const ActivationRule& rule) {
    return rule.level == "vision_config" && traits.has(rule.trait);
  });
}

// transformers looks up each name when it builds the class.
void check_activation_names(const CheckContext& context, const Family& family) {
  const Subject& on = context.on;
  const JsonValue* vision = known(on.config, "vision_config");
  const bool reads_tower = has_trait(on.text_type, ModelTrait::kStrictTower) ||
                           looks_up_in_tower(traits_of(on.model_type));
  const bool reads_projector = has_trait(on.model_type, ModelTrait::kProjectorActivation);
  std::string_view fields = family.activation.fields;
  const std::tuple<std::string_view, const JsonValue*, std::string_view> kPlaces[] = {
      {on.has_text_config() ? "text_config." : "", &on.text_config(), take_word(fields)},
      {"vision_config.", reads_tower ? vision : nullptr, "hidden_act"},
      {"", reads_projector ? &on.config : nullptr, "projector_hidden_act"}};
  for (const auto& [level, json, field] : kPlaces) {
    const JsonValue* declared = field.empty() ? nullptr : member(json, field);
    const auto* name = declared == nullptr ? nullptr : declared->get_ptr<const std::string*>();
    const bool is_known = name != nullptr && (has_word(kAllActivations, *name) ||
                                              *name == family.activation.name);
    if (declared == nullptr || is_known) continue;
    context.tell(fmt::format("config.json: {}{}", level, field), "{}, which {} does not have",
                 declared->dump(), context.profile.help);
  }
}

void check_activation(const CheckContext& context) {
  if (context.profile.serves()) check_activation_rules(context);
  if (const Family* family = family_of_type(ruling_type(context))) {
    const FamilyVariant* variant = variant_of(*family, context.on.text_config());
    const bool has_own = variant != nullptr && variant->family != nullptr;
    const Family& form = has_own ? *variant->family : *family;
    context.profile.serves() ? check_family_activation(context, form)
                             : check_activation_names(context, form);
  }
  if (!context.profile.serves()) return;
  const JsonValue* declared = member(known(context.on.config, "vision_config"), "hidden_act");
  if (declared == nullptr || !has_trait(context.on.text_type, ModelTrait::kStrictTower)) return;
  const auto* name = declared->get_ptr<const std::string*>();
  if (name != nullptr && has_word(kActivations, *name)) return;
  context.tell("config.json: vision_config.hidden_act", "{}, which {} does not have",
               declared->dump(), context.profile.help);
}

void check_layer_words(const CheckContext& context) {
  const JsonValue* declared = context.on.text_field("layer_types");
  if (declared == nullptr) return;
  const bool is_list = is_list_of_texts(*declared);
  const JsonValue* count = member(context.on.text_config(), "num_hidden_layers");
  if (!is_list || (declared->empty() && count != nullptr && whole(*count) != 0u)) {
    return context.report("config.json: layer_types", "no list of a type for each layer");
  }
  // Without a number of layers, the class uses its default.
  if (count != nullptr || !has_trait(context.on.text_type, ModelTrait::kCountsLayersByDefault))
    return;
  const Family& table = *table_of_model_type(context.on.text_type);
  const auto usual = number_of_fields(table, context.on.text_config(), "num_hidden_layers");
  if (usual && *usual != declared->size()) {
    context.tell("config.json: num_hidden_layers",
                 "absent, which is {}; layer_types has {} entries", *usual, declared->size());
  }
}

void check_architectures(const CheckContext& context) {
  const JsonValue* declared = member(context.on.config, "architectures");
  if (!is_truthy(declared)) return;  // C03
  if (!is_list_of_texts(*declared))
    context.report("config.json: architectures", "no list of class names");
}

// Classes whose constructors need keys that configurations of other types lack.
//   asserts   the class checks the type itself, whatever the fields are
struct ClassTypes {
  std::string_view stem;
  std::string types;
  bool asserts = false;
};
std::vector<ClassTypes> class_types() {
  std::vector<ClassTypes> out = {
      {"GPT2", "gpt2"}, {"GPTJ", "gptj"}, {"Falcon", "falcon"}, {"Bloom", "bloom"}};
  std::string asserted;  // such classes accept each other's types
  for (const Family* family : families()) {
    const std::string types = fmt::format("{} {} ", family->model_types, family->traits.bare_types);
    const Traits& traits = family->traits.text;
    if (!traits.own_config.empty()) out.push_back({traits.own_config, types});
    if (traits.asserted_config.empty()) continue;
    out.push_back({traits.asserted_config, "", true});
    asserted += types;
  }
  for (ClassTypes& entry : out) {
    if (entry.asserts) entry.types = asserted;
  }
  return out;
}

// Whether config.json has all fields for which the class would need its own type's defaults.
bool has_all_fields(const Subject& on) {
  const Family* table = on.parameters.table;
  if (table == nullptr || on.has_text_config()) return false;
  constexpr std::string_view kOfTables =
      " decoder_sparse_step head_dim num_key_value_heads tie_word_embeddings ";
  return std::ranges::all_of(table->defaults, [&](const ClassDefault& entry) {
    return entry.read_by == ReadBy::kKeys || has_word(kOfTables, entry.field) ||
           member(on.config, entry.field) != nullptr;
  });
}

// Auto classes of transformers choose by model_type alone, unless the folder has its own code.
void check_auto_class(const CheckContext& context, const Family& table) {
  const Subject& on = context.on;
  const bool is_own = has_word(table.model_types, on.model_type) ||
                      has_word(table.traits.bare_types, on.model_type) ||
                      table_of_architecture(on.model_class) == nullptr ||  // a wrapper's
                      known(on.config, "auto_map") != nullptr;
  if (is_own || !knows_model_type(context.profile, on.model_type)) return;
  std::string found =
      fmt::format("'{}', whose class is made instead of '{}'", on.model_type, on.model_class);
  if (const Family* made = table_of_model_type(on.model_type)) {
    const ParameterReport report = compare_parameters(on, *made);
    if (report.bad_field.empty() && report.missing.empty() && report.wrong.empty()) return;
    if (!report.missing.empty()) found += fmt::format("; it has '{}'", report.missing[0].name);
  }
  context.report("config.json: model_type", std::move(found), {},
                 "another model; weights that only its class has are random");
}

void check_class_type(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.model_class.empty() || on.model_type.empty()) return;
  const Family* table = on.parameters.table;
  if (!context.profile.serves() && table != nullptr) return check_auto_class(context, *table);
  const auto report = [&] {
    context.tell("config.json: architectures", "'{}' does not read a configuration of type '{}'",
                 on.model_class, on.model_type);
  };
  const bool is_wrapper = has_trait(on.model_type, ModelTrait::kFlatWrapper);
  // For a flat file these read the configuration that the wrapper's class makes of it (C04).
  const bool reads_any = !on.has_text_config() && (on.model_class.starts_with("Llama") ||
                                                   on.model_class.starts_with("Mistral"));
  if (is_wrapper && !reads_any && !on.model_class.starts_with("Qwen3_5") && !has_all_fields(on)) {
    return report();
  }
  for (const ClassTypes& entry : class_types()) {
    const std::string_view rest =
        std::string_view(on.model_class).substr(std::min(entry.stem.size(), on.model_class.size()));
    const bool is_of_stem =
        on.model_class.starts_with(entry.stem) &&
        (rest.starts_with("For") || rest.starts_with("Model") || rest.starts_with("LMHead"));
    const bool asserts = entry.asserts && context.is(Program::kVllm);
    const bool asks = asserts || !has_all_fields(on);
    if (is_of_stem && !has_word(entry.types, on.model_type) && asks) report();
  }
}

// Rejects a wrapper whose text model declares an encoder, which gets the wrong scheduler.
void check_encoder(const CheckContext& context) {
  const Subject& on = context.on;
  const JsonValue* encodes = member(on.text_config(), "is_encoder_decoder");
  if (!on.has_text_config() || !is_truthy(encodes) ||
      !has_trait(on.text_type, ModelTrait::kOnlySilu))
    return;
  context.tell("config.json: is_encoder_decoder", "{}; models of type {} only decode",
               encodes->dump(), on.text_type);
}

// Wrappers that choose the classes of their parts by model_type.
constexpr std::string_view kLookUpParts = " lfm2_vl internvl paligemma aya_vision ";

void check_part_types(const CheckContext& context) {
  const bool has_list = !context.is(Program::kSglang) && !context.is(Program::kTensorrt) &&
                        !context.is(Program::kLlamaCpp);
  const bool looks_up = has_word(kLookUpParts, context.on.model_type) ||
                        has_trait(context.on.model_type, ModelTrait::kLooksUpParts);
  if (!has_list || !looks_up) return;
  const Profile& classes =
      context.profile.has_transformers_4() ? context.profile.transformers() : context.profile;
  for (const std::string_view part : {"text_config", "vision_config"}) {
    const JsonValue* type = member(known(context.on.config, part), "model_type");
    if (type == nullptr) continue;
    const auto* name = type->get_ptr<const std::string*>();
    if (name != nullptr && knows_model_type(classes, *name)) continue;
    context.tell(fmt::format("config.json: {}.model_type", part), "{}, which {} does not have",
                 type->dump(), context.profile.help);
  }
}

void check_nesting(const CheckContext& context) {
  const Subject& on = context.on;
  const JsonValue* inner = member(on.config, "text_config");
  check_part_types(context);
  if (inner == nullptr || inner->is_null()) return;
  if (!inner->is_object()) return context.report("config.json: text_config", no_object(*inner));
  if (!context.profile.serves()) return;  // transformers keeps unknown values
  if (has_trait(on.model_type, ModelTrait::kTextClass)) {
    context.tell("config.json: text_config",
                 "model_type '{}' is a text model's, which has no text_config", on.model_type);
  }
  const JsonValue* deep = member(known(on.config, "vision_config"), "deepstack_visual_indexes");
  if (deep != nullptr && !deep->is_structured() && !deep->is_string()) {
    context.report("config.json: vision_config.deepstack_visual_indexes", "no list");
  }
}

constexpr Check kConfigWordChecks[] = {
    {"C26", "the dtype is one of PyTorch's",
     "U: vllm* sglang transformers*, W: tensorrt-llm llama.cpp", "module 'torch' has no attribute",
     "write \"bfloat16\" or the source model's", check_dtype_word},
    {"C27", "the activation is the family's",
     "U: vllm* sglang transformers*, S: llama.cpp, W: tensorrt-llm",
     "Unsupported activation: ... Only silu is supported for now; KeyError", kTakeConfig,
     check_activation},
    {"C28", "layer_types is a list of names", "U: all", "The `layer_types` entries must be in",
     kTakeConfig, check_layer_words},
    {"C29", "architectures is a list of names",
     "U: vllm* sglang tensorrt-llm llama.cpp, W: transformers*",
     "architectures: Input should be a valid list", kTakeConfig, check_architectures},
    {"C30", "the class reads configurations of this type",
     "U: vllm* sglang llama.cpp, S: transformers*, W: tensorrt-llm",
     "object has no attribute; random weights", kTakeConfig, check_class_type},
    {"C31", "parts of the configuration have the right kind", "U: all",
     "object has no attribute 'text_config'", kTakeConfig, check_nesting},
    {"C32", "a model that only decodes is not said to encode",
     "U: vllm*, W: sglang tensorrt-llm llama.cpp",
     "max_num_batched_tokens is smaller than max_model_len", "remove is_encoder_decoder",
     check_encoder},
};

}  // namespace

std::span<const Check> config_word_checks() { return kConfigWordChecks; }

}  // namespace ckpt
