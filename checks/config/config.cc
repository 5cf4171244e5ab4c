// Checks of config.json: can the program name the model, and does it read the right numbers?
//
// Sources: transformers src/transformers/models/qwen3_5/configuration_qwen3_5.py; vLLM
// vllm/transformers_utils/config.py and vllm/model_executor/models/qwen3_5.py; SGLang
// python/sglang/srt/models/qwen3_5.py and configs/qwen3_5.py.
// A wrapper's model_type over a flat file parses, and then every number is the default of the
// class.
#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr const char* kConfig = "config.json";

// Whether the text part with this model_type is also saved without a wrapper.
bool is_text_type(std::string_view type) { return has_trait(type, ModelTrait::kTravelsAlone); }
bool is_flat_wrapper(std::string_view type) { return has_trait(type, ModelTrait::kFlatWrapper); }

std::string_view outer_type(const Family& family) {
  return family.model_types.substr(family.model_types.rfind(' ') + 1);
}

// The model_type that goes with the class; empty if no table in models/ has the class.
std::string_view type_of_class(const Subject& on) {
  const Family* table = table_of_architecture(on.model_class);
  if (table == nullptr) return {};
  return on.has_text_config() ? outer_type(*table) : table->text_type();
}

void check_readable(const CheckContext& context) {
  if (context.on.is_gguf) return;
  if (const std::string* fault = find_mapped(context.on.broken, kConfig)) {
    context.report(kConfig, *fault);
  } else if (context.on.config.is_null()) {
    context.report(kConfig, "missing");
  } else if (context.on.model_type.empty()) {
    std::optional<Fix> fix;
    if (const std::string_view type = type_of_class(context.on); !type.empty()) {
      fix = advised("copy config.json from the source model");
      fix->step = fmt::format("config:set=model_type=\"{}\"", type);
    }
    context.report(kConfig, "no model_type", {}, {}, std::move(fix));
  }
}

// Half-wrapped: said to be a wrapper, written flat.
bool is_half_wrapped(const Subject& on) {
  return is_flat_wrapper(on.model_type) && !on.has_text_config();
}

void check_model_type(const CheckContext& context) {
  const Subject& on = context.on;
  constexpr const char* kPlace = "config.json: model_type";
  const bool is_misread =
      has_listed(context.profile, "configurations misread", on.model_type, false);
  if (is_misread && known(on.config, "auto_map") == nullptr) {
    return context.report(kPlace,
                          fmt::format("'{}', a type whose configuration this server does not read "
                                      "in the form that transformers' class gives it",
                                      on.model_type),
                          {}, "TypeError: unhashable type: 'dict'; ... is a per-layer attribute",
                          advised("copy the code that the source model's auto_map names, if there "
                                  "is any, and auto_map, and serve it with --trust-remote-code; or "
                                  "serve it with vLLM"));
  }
  if (on.model_type.empty() || knows_model_type(context.profile, on.model_type)) return;
  std::optional<Fix> fix;
  const Family* family = is_text_type(on.model_type) ? table_of_model_type(on.model_type) : nullptr;
  if (family == nullptr || !knows_model_type(context.profile, outer_type(*family))) {
    fix = advised(release_with(context.profile, knows_model_type, on.model_type));
  }
  context.report(kPlace,
                 fmt::format("'{}', which {} does not know", on.model_type, context.profile.help),
                 {},
                 fmt::format("The checkpoint you are trying to load has model type `{}` but "
                             "Transformers does not recognize this architecture",
                             on.model_type),
                 std::move(fix));
}

// The class of this model_type that generates text; empty for classifiers, and if no table in
// models/ has the type.
std::string_view class_of_type(const Subject& on, bool is_wrapper) {
  const bool is_classifier = known(on.config, "id2label") != nullptr;
  const std::string& type = is_wrapper ? on.model_type : on.text_type;
  const Family* table = is_classifier ? nullptr : table_of_model_type(type);
  if (table == nullptr) return {};
  for (const std::string_view name : split_words(table->architectures)) {
    if (name.ends_with("ForConditionalGeneration") == is_wrapper) return name;
  }
  return {};
}

// Reports a wrapper whose text part has a model_type for which the program finds no class.
void check_class_of_text(const CheckContext& context) {
  const Subject& on = context.on;
  const bool is_found = !on.has_text_config() ||
                        !has_listed(context.profile, "text parts without a class", on.text_type,
                                    false);
  if (is_found) return;
  if (context.is(Program::kSglang)) {
    return context.tell("config.json: text_config.model_type",
                        "'{}', for which this server finds no class of a text part",
                        on.text_type);
  }
  if (!list_in(on.text_config(), "architectures").empty()) return;
  Fix fix = advised("copy text_config.architectures from the source model's config.json");
  if (const std::string_view name = class_of_type(on, false); !name.empty()) {
    fix.step = fmt::format("config:set=text_config.architectures=[\"{}\"]", name);
  }
  context.report("config.json: text_config.architectures", "absent; it names the text part's class",
                 {}, "No model architectures are specified", std::move(fix));
}

// vLLM takes the bare model of model_type then, where transformers has one.
void check_no_class(const CheckContext& context) {
  const bool is_served = context.is(Program::kVllm) && !context.on.is_wrapper &&
                         knows_model_type(context.profile.transformers(), context.on.model_type);
  Fix fix = advised("copy architectures from the source model's config.json");
  const Subject& on = context.on;
  if (const std::string_view name = class_of_type(on, on.has_text_config()); !name.empty()) {
    fix.step = fmt::format("config:set=architectures=[\"{}\"]", name);
  }
  context.report("config.json: architectures", "names no class",
                 is_served ? std::optional(Severity::kUnsound) : std::nullopt,
                 is_served ? "served as a model that makes embeddings" : "", std::move(fix));
}

void check_model_class(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.config.is_null()) return;
  if (on.model_class.empty()) return check_no_class(context);
  if (knows_model_class(context.profile, on.model_class)) return check_class_of_text(context);
  const JsonValue& inner = list_in(on.text_config(), "architectures");
  const auto* text_class = inner.empty() ? nullptr : inner[0].get_ptr<const std::string*>();
  if (text_class != nullptr && context.profile.does("read_class_of_text_part") &&
      knows_model_class(context.profile, *text_class)) {
    return;
  }
  CheckFinding found{
      "config.json: architectures",
      fmt::format("'{}', which {} does not have", on.model_class, context.profile.help)};
  if (context.is(Program::kSglang)) {
    found.symptom = fmt::format(
        "{} has no SGlang implementation and the Transformers "
        "implementation is not compatible with SGLang",
        on.model_class);
  }
  if (context.is(Program::kOllama)) {
    found.symptom = fmt::format("unsupported architecture \"{}\"", on.model_class);
    constexpr auto kReads = [](const Profile& profile, std::string_view name) {
      return has_listed(profile, "gguf architectures", name, false);
    };
    const Family* family = table_of_architecture(on.model_class);
    const bool reads_gguf = family == nullptr || kReads(context.profile, family->name);
    found.fix = reads_gguf ? gguf_instead(on)
                           : advised(release_with(context.profile, kReads, family->name));
    return context.out.push_back(std::move(found));
  }
  if (context.is_server() && has_fallback_class(context.profile, on.model_class) &&
      knows_model_type(context.profile, on.model_type)) {
    found.severity = Severity::kWarning;
    found.symptom = "runs through the Transformers fallback, if at all";
  }
  const std::string_view type = on.model_type.empty() ? type_of_class(on) : on.model_type;
  if (!is_text_type(type) && !is_half_wrapped(on)) {
    found.fix = advised(release_with(context.profile, knows_model_class, on.model_class));
  }
  context.out.push_back(std::move(found));
}

// A wrapper's class asks a text model's configuration for parts that it does not have.
bool is_text_under_wrapper(const CheckContext& context) {
  const Subject& on = context.on;
  return context.is_server() && is_text_type(on.model_type) && !on.has_text_config() &&
         on.model_class.starts_with("Qwen3_5") &&
         on.model_class.ends_with("ForConditionalGeneration");
}

void check_half_wrapped(const CheckContext& context) {
  const Subject& on = context.on;
  constexpr const char* kPlace = "config.json: text_config";
  if (is_half_wrapped(on)) {
    context.tell(kPlace,
                 "absent, though model_type '{}' is a wrapper's; every number "
                 "of the text model would be the class's default",
                 on.model_type);
  } else if (is_text_under_wrapper(context)) {
    context.report(kPlace,
                   fmt::format("absent, though '{}' is a wrapper's class; model_type '{}' is "
                               "the text model's",
                               on.model_class, on.model_type),
                   Severity::kUnloaded, "object has no attribute 'vision_config'");
  }
}

void check_text_type(const CheckContext& context) {
  if (!is_flat_wrapper(context.on.model_type) || !context.on.has_text_config()) return;
  const std::string_view expected = table_of_model_type(context.on.model_type)->text_type();
  const bool is_declared =
      member(context.on.text_config(), "model_type") != nullptr;  // else the class's
  if (!is_declared || context.on.text_type == expected) return;
  Fix fix;
  fix.step = fmt::format("config:set=text_config.model_type=\"{}\"", expected);
  context.report("config.json: text_config.model_type",
                 fmt::format("'{}'; expected '{}'", context.on.text_type, expected), {}, {},
                 std::move(fix));
}

void check_rope(const CheckContext& context) {
  const Subject& on = context.on;
  if (!has_trait(on.text_type, ModelTrait::kThetaInside) || !on.has_text_config()) return;
  for (const std::string_view key :
       {"rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor"}) {
    if (known(on.config, key) == nullptr) continue;
    context.report(fmt::format("config.json: {}", key),
                   "next to text_config; rope belongs only inside text_config");
  }
  const JsonValue* rope = on.text_field("rope_parameters");
  if (rope == nullptr) rope = on.text_field("rope_scaling");
  if (known(rope, "rope_theta") != nullptr || on.text_field("rope_theta") != nullptr) return;
  context.report("config.json: text_config.rope_parameters",
                 "no rope_theta; the default of the class is 10000");
}

void check_rope_type(const CheckContext& context) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const JsonValue* rope = context.on.text_field(key);
    if (rope == nullptr) continue;
    const std::string* old_name = text_of(*rope, "type");
    const std::string* new_name = text_of(*rope, "rope_type");
    if (old_name == nullptr || new_name == nullptr || *old_name == *new_name) continue;
    if (*old_name == "mrope" && *new_name == "default") continue;
    context.tell(fmt::format("config.json: {}", key), "type '{}' and rope_type '{}' differ",
                 *old_name, *new_name);
  }
}

void check_dtype(const CheckContext& context) {
  if (context.on.config.is_null()) return;
  const auto has = [](const JsonValue& json) {
    return known(json, "dtype") != nullptr || known(json, "torch_dtype") != nullptr;
  };
  if (has(context.on.config) || has(context.on.text_config())) return;
  context.report("config.json: dtype", "no dtype at all; a reader may take float32");
}

// Layers that carry the tensors of the other kind.
void check_layer_kinds(const CheckContext& context, const std::vector<std::string>& types) {
  for (size_t layer = 0; layer < types.size(); ++layer) {
    const bool is_linear = types[layer] == "linear_attention";
    const std::string absent = is_linear ? "self_attn.q_proj" : "linear_attn.out_proj";
    for (const std::string_view prefix : {"model.layers.", "model.language_model.layers."}) {
      if (context.on.modules.count(fmt::format("{}{}.{}", prefix, layer, absent)) == 0) continue;
      context.tell(fmt::format("config.json: layer_types[{}]", layer), "'{}', but the layer has {}",
                   types[layer], absent);
    }
  }
}

constexpr std::string_view kLayerTypeList = "layer types";

// Whether the program's transformers takes the word for a class, or makes another of it: 5 compares
// those of all classes with its list. llama.cpp's converter reads the file itself then.
bool transformers_knows(const Profile& profile, std::string_view type) {
  if (profile.has_transformers_4() || profile.program == Program::kLlamaCpp) return true;
  const bool is_own = profile.lists.contains(kLayerTypeList);
  const Profile& lists = is_own ? profile : profile.transformers();
  const std::string renamed = fmt::format("{}={}", type, layer_type(type).newer_word);
  return has_listed(lists, kLayerTypeList, type, true) ||
         has_listed(lists, "renamed layer types", renamed, false);
}

// Families list the words that their classes alone know, as the oldest transformers has them.
bool class_knows(const CheckContext& context, std::string_view type) {
  const std::string_view ruling = ruling_type(context);
  const auto is_named = [&](std::string_view word) {
    const auto& own = traits_of(ruling).layer_types;
    return std::ranges::find(own, word) != own.end();
  };
  const bool is_word = find_by(kLayerTypes, &LayerTypeWord::word, type) != nullptr;
  const bool is_any =
      table_of_model_type(ruling) == nullptr && (is_word || !context.profile.has_transformers_4());
  return layer_type(type).is_of_any_class || is_any || is_named(type) ||
         std::ranges::any_of(kLayerTypes, [&](const LayerTypeWord& older) {
           return older.newer_word == type && is_named(older.word);
         });
}

std::optional<Fix> older_word(const CheckContext& context, std::string_view type) {
  const std::string_view older = older_layer_type(type, context.on.text_type);
  const bool is_known = older != type && transformers_knows(context.profile, older);
  return is_known ? std::optional(Fix{"serving-config", {}, {}, false, 0}) : std::nullopt;
}

void check_layer_types(const CheckContext& context) {
  constexpr const char* kTypes = "config.json: layer_types";
  const std::vector<std::string> types = context.on.layer_types();
  const JsonValue* count = context.on.text_field("num_hidden_layers");
  if (types.empty() || count == nullptr) return;
  const auto is_listed = [&](std::string_view list) {
    return has_listed(context.profile, list, context.on.text_type, false);
  };
  if (is_listed("unread lists of layers")) return;
  const auto layers = whole(*count);
  const bool lists_drafts = has_trait(context.on.text_type, ModelTrait::kListsDraftsToo);
  const bool may_be_longer = (lists_drafts && !context.is(Program::kTransformers)) ||
                             is_listed("longer lists of layers");
  if (layers && *layers != types.size() && !(may_be_longer && *layers < types.size())) {
    // The classes of 5.x compare them, and of 4.57 those that have layer_types.
    const bool reads_alone = !context.profile.serves() && !is_listed("uncounted lists of layers");
    context.report(kTypes,
                   fmt::format("{} entries; num_hidden_layers is {}", types.size(), *layers),
                   reads_alone ? std::optional(Severity::kUnloaded) : std::nullopt);
  }
  for (const std::string& type : types) {
    if (context.is(Program::kTensorrt)) continue;  // layer_types_not_checked
    if (!transformers_knows(context.profile, type)) {
      return context.report(
          kTypes,
          fmt::format("'{}' is not a layer type of {}", type, context.profile.title()),
          Severity::kUnloaded, "The `layer_types` entries must be in (...)",
          older_word(context, type));
    }
    if (class_knows(context, type)) continue;
    return context.tell(kTypes, "'{}' is not a layer type", type);
  }
  if (has_trait(context.on.text_type, ModelTrait::kDeltaClass)) check_layer_kinds(context, types);
}

void check_vision_config(const CheckContext& context) {
  const Subject& on = context.on;
  if (!is_flat_wrapper(on.model_type) || !on.has_text_config()) return;
  const JsonValue* vision = known(on.config, "vision_config");
  if (vision == nullptr)
    return context.report("config.json: vision_config", "absent from a wrapper");
  const JsonValue* out = known(*vision, "out_hidden_size");
  const JsonValue* hidden = on.text_field("hidden_size");
  if (out == nullptr || hidden == nullptr || *out == *hidden) return;
  // Without a tower nothing meets the text model.
  const auto weight = on.has_vision_tensors() ? std::nullopt : std::optional(Severity::kWarning);
  context.report("config.json: vision_config.out_hidden_size",
                 fmt::format("{}; the text model's hidden_size is {}", out->dump(), hidden->dump()),
                 weight);
}

void check_interval(const CheckContext& context) {
  const Subject& on = context.on;
  if (!has_trait(on.text_type, ModelTrait::kFullAttentionInterval) || !on.has_text_config()) return;
  if (on.text_field("full_attention_interval") != nullptr) return;
  context.report("config.json: text_config.full_attention_interval",
                 "absent; the loader does not derive it from layer_types");
}

void check_no_vision(const CheckContext& context) {
  if (known(context.on.config, "vision_config") == nullptr || context.on.has_vision_tensors())
    return;
  context.report("config.json: vision_config", "the weights hold no vision tower");
}

void check_remote_code(const CheckContext& context) {
  if (known(context.on.config, "auto_map") == nullptr) return;
  // Its converter runs the tokenizer's code for these (conversion/{deepseek,nemotron}.py).
  const bool is_trusted =
      context.is(Program::kLlamaCpp) &&
      has_word(" DeepseekV3ForCausalLM NemotronHForCausalLM ", context.on.model_class);
  if (is_trusted) return;
  context.report("config.json: auto_map", "the folder asks for code of its own");
}

constexpr Check kConfigChecks[] = {
    {"C01", "config.json can be read and names a model_type", "U: all",
     "Unrecognized model; JSON errors", "copy config.json from the source model", check_readable},
    {"C02", "the program knows the model_type", "U: vllm* sglang transformers*", "", "",
     check_model_type, "vl-wrap"},
    {"C03", "the program has the model class",
     "U: vllm* sglang tensorrt-llm llama.cpp ollama, I: transformers-4", "unsupported architecture",
     "", check_model_class, "vl-wrap"},
    {"C04", "a wrapper's model_type or class has a text_config", "S: all",
     "query, key and positions must have the same batch_size and seq_len; or wrong dimensions", "",
     check_half_wrapped, "vl-wrap"},
    {"C05", "text_config.model_type is the family's", "U: vllm* sglang, W: tensorrt-llm llama.cpp",
     "Invalid model_type", "", check_text_type, "config"},
    {"C06", "rope is complete, and only inside text_config",
     "S: vllm*, W: sglang tensorrt-llm llama.cpp transformers*",
     "query, key and positions must have the same batch_size and seq_len; garbage in long texts",
     "", check_rope, "vl-wrap"},
    {"C07", "one rope type", "U: vllm*, W: sglang tensorrt-llm transformers*",
     "ValueError: conflicting rope types", "", check_rope_type, "serving-config"},
    {"C09", "config.json sets dtype", "W: vllm*, I: sglang tensorrt-llm llama.cpp transformers-5",
     "weights in float32", "", check_dtype, "serving-config"},
    {"C11", "layer_types fit the layers",
     "U: vllm* sglang tensorrt-llm llama.cpp, W: transformers*", "missing weights of linear_attn",
     kTakeConfig, check_layer_types},
    {"C12", "vision_config fits the text model", "U: vllm* sglang, W: tensorrt-llm",
     "errors while the tower is made", "", check_vision_config, "vl-wrap"},
    {"C14", "the vision tower's weights are there", "W: sglang, I: vllm* tensorrt-llm",
     "parameters of the vision tower are never filled", "serve with --language-model-only",
     check_no_vision},
    {"C15", "the folder needs no code of its own",
     "U: llama.cpp, W: vllm* sglang tensorrt-llm transformers*", "asks for trust_remote_code",
     "serve with --trust-remote-code, or use the native class", check_remote_code},
    {"C16", "full_attention_interval is there", "U: sglang",
     "'Qwen3_5TextConfig' object has no attribute 'full_attention_interval'", "", check_interval,
     "serving-config"},
};

}  // namespace

std::string layer_types_not_checked(const Subject& on, const Profile& profile) {
  if (profile.program != Program::kTensorrt) return {};
  for (const std::string& type : on.layer_types()) {
    if (transformers_knows(profile, type)) continue;
    return fmt::format("layer_types: '{}', as which transformers it comes with is not known", type);
  }
  return {};
}

std::span<const Check> config_checks() { return kConfigChecks; }

}  // namespace ckpt
