// config.json as llama.cpp's converter reads it (conversion/base.py: load_hparams,
// get_model_architecture, TextModel.__init__).
//
// Fields of text_config override those of the root. A null field counts as present, so later
// spellings of it are not read.
#include "transforms/to_gguf/model.h"

#include <algorithm>
#include <cmath>

#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "transforms/to_gguf/tokenizer/added.h"

namespace ckpt {
namespace {

struct OutTypeRow {
  OutType type;
  Dtype dtype;
  uint64_t file_type;
};
constexpr OutTypeRow kOutTypes[] = {{OutType::kF32, Dtype::kF32, 0},
                                    {OutType::kF16, Dtype::kF16, 1},
                                    {OutType::kBF16, Dtype::kBF16, 32},
                                    {OutType::kQ8_0, Dtype::kQ8_0, 7}};

const OutTypeRow& row_of(OutType type) {
  const OutTypeRow* row = find_by(kOutTypes, &OutTypeRow::type, type);
  CKPT_CHECK(row != nullptr);
  return *row;
}

const std::string* first_architecture(const JsonValue& json) {
  const JsonValue& list = list_in(json, "architectures");
  return list.empty() ? nullptr : list.front().get_ptr<const std::string*>();
}

// The family itself, or the variant, or its variant, that this configuration selects.
Result<const Family*> selected_form(const Family* family, const JsonValue& config) {
  const FamilyVariant* variant = variant_of(*family, config);
  if (variant == nullptr) return family;
  if (variant->family != nullptr) return selected_form(variant->family, config);
  return unsupported_hint(std::string(kTwoSteps), "config.json: {} is not converted",
                          variant->refused_as);
}

// Sets `key` to the value of `source`: another field, or a quotient of two.
void fill_as(JsonValue& config, const std::string& key, std::string_view source) {
  const size_t over = source.find('/');
  if (over == source.npos) {
    if (const JsonValue* other = known(config, source)) config[key] = *other;
    return;
  }
  const auto width = whole(known(config, source.substr(0, over)));
  const auto count = whole(known(config, source.substr(over + 1)));
  if (width && count && *count > 0) config[key] = *width / *count;
}

Status fill_default(const JsonValue& rope, JsonValue& config, const ClassDefault& field) {
  const std::string key(field.field);
  // Either of its two names is sufficient.
  if (key == "num_experts" && known(config, "num_local_experts") != nullptr) return {};
  if (known(config, key) != nullptr) return {};
  if (!field.unless.empty() && config.contains(field.unless)) return {};
  const auto value = number_from<double>(field.value);
  if (!value) {
    fill_as(config, key, field.value);
    return {};
  }
  if (config.contains(key)) {
    if (!field.null_as.empty()) fill_as(config, key, field.null_as);
    // If the root has null, the rotary parameters contain the value.
    if (!field.null_as.empty() || known(rope, key) != nullptr) return {};
    return corrupt_hint(fmt::format("config.json without the field, for {}", *value),
                        "config.json: {} is null; expected a number", key);
  }
  const bool is_whole = *value == std::floor(*value);
  config[key] = is_whole ? JsonValue(static_cast<uint64_t>(*value)) : JsonValue(*value);
  return {};
}

// Whether transformers has no class that supplies fields missing in config.json.
bool is_bare(const Model& model) {
  return has_word(model.family->traits.bare_types, text_in(model.config, "model_type"));
}

const JsonValue* first_present(const JsonValue& config, std::string_view fields) {
  for (const std::string_view field : split_words(fields)) {
    if (const JsonValue* found = member(config, field)) return found;
    const size_t dot = field.find('.');
    const JsonValue* object = dot == field.npos ? nullptr : known(config, field.substr(0, dot));
    if (const JsonValue* found = known(object, field.substr(dot + 1))) return found;
  }
  return nullptr;
}

// Copies a field of the root into the rotary parameters, under the name that later code reads.
void mirror(JsonValue& rope, const JsonValue& config, std::string_view fields, const char* name) {
  if (rope.contains(name)) return;
  const JsonValue* found = first_present(config, fields);
  if (found != nullptr && !found->is_null()) rope[name] = *found;
}

constexpr std::string_view kGlobalBases =
    "global_rope_theta rope_global_theta rope_theta_global rope_theta rotary_emb_base";
constexpr std::string_view kLocalBases =
    "local_rope_theta rope_local_theta rope_theta_local swa_rope_theta rope_local_base_freq";

void name_type(JsonValue& rope) {
  if (!rope.contains("rope_type") && known(rope, "type") != nullptr)
    rope["rope_type"] = rope["type"];
}

// Makes one dictionary per type of layer, with the base of the root or of the class (transformers
// models/gemma3/configuration_gemma3.py convert_rope_params_to_dict).
void complete_layer_types(JsonValue& rope, const JsonValue& config) {
  for (const auto& [type, bases] :
       {std::pair("full_attention", kGlobalBases), std::pair("sliding_attention", kLocalBases)}) {
    const JsonValue* found = known(rope, type);
    if (found != nullptr && !found->is_object()) continue;
    JsonValue own = found == nullptr ? JsonValue::object() : *found;
    name_type(own);
    if (known(own, "rope_theta") == nullptr) {
      own.erase("rope_theta");
      mirror(own, config, bases, "rope_theta");
    }
    if (found != nullptr || !own.empty()) rope[type] = std::move(own);
  }
}

// Adds fields of the root; rope_parameters may already have its own rotary base.
JsonValue complete_rope(const JsonValue& level, const JsonValue& config) {
  JsonValue rope = rope_of_level(level);
  for (const char* type : {"full_attention", "sliding_attention"}) {
    if (rope.contains(type) && rope[type].is_null()) rope.erase(type);
  }
  if (rope.contains("full_attention") || rope.contains("sliding_attention")) return rope;
  const JsonValue* local = first_present(config, kLocalBases);
  if (local != nullptr && !local->is_null()) rope["sliding_attention"] = {{"rope_theta", *local}};
  mirror(rope, config, kGlobalBases, "rope_theta");
  name_type(rope);
  mirror(rope, config, "partial_rotary_factor rope_pct rope_percent", "partial_rotary_factor");
  mirror(rope, config, "original_max_position_embeddings", "original_max_position_embeddings");
  return rope;
}

// The configuration that contains the rotary dictionary.
const JsonValue& rope_level(const Model& model, const JsonValue* text) {
  const bool is_of_text = text != nullptr && (known(*text, "rope_scaling") != nullptr ||
                                              known(*text, "rope_parameters") != nullptr);
  return is_of_text ? *text : model.config;
}

// Adds the default dictionary of the text part's class if config.json has none.
JsonValue level_with_default(JsonValue level, const Model& model) {
  const Family* table = table_of_model_type(text_in(model.config, "model_type"));
  if (table == nullptr) table = model.family;
  const auto is_declared = [&](const char* key) {
    return table->rope.keeps_null ? level.contains(key) : known(level, key) != nullptr;
  };
  if (table->rope.by_default.empty() || is_declared("rope_scaling") ||
      is_declared("rope_parameters")) {
    return level;
  }
  auto rope = parse_json("", table->rope.by_default);
  CKPT_CHECK(rope.has_value());
  level["rope_parameters"] = std::move(*rope);
  return level;
}

// Rerankers have other tensors and keys (llama.cpp conversion/qwen.py
// Qwen3Model._is_qwen3_reranker).
bool is_reranker(const Checkpoint& checkpoint, const Model& model) {
  const auto names_reranker = [](const std::string& text, std::string_view before) {
    return text.find(std::string(before) + "qwen3-reranker") != std::string::npos ||
           text.find(std::string(before) + "qwen3-vl-reranker") != std::string::npos;
  };
  const Document* card = checkpoint.find_document("README.md");
  if (card != nullptr && names_reranker(lower_case(card->text()), "# ")) return true;
  return names_reranker(lower_case(checkpoint.name), "") ||
         names_reranker(lower_case(text_in(model.root, "_name_or_path")), "");
}

Result<std::vector<uint64_t>> answer_tokens(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto lists, token_lists_of(checkpoint));
  std::vector<uint64_t> out;
  for (const char* text : {"yes", "no"}) {
    const TokenLists::Token* token = lists->find(text);
    if (token == nullptr) {
      return corrupt("tokenizer.json has no token '{}', whose row is part of a reranker", text);
    }
    out.push_back(token->id);
  }
  return out;
}

}  // namespace

JsonValue merged_config(const JsonValue& root) {
  JsonValue out = root;
  if (const JsonValue* text = find_text_config(root)) out.update(*text);
  return out;
}

NamedClass find_class(const JsonValue& root) {
  const JsonValue* text = find_text_config(root);
  const std::string* name = text == nullptr ? nullptr : first_architecture(*text);
  if (name == nullptr) name = first_architecture(root);
  const std::string* type = text_of(text, "model_type");
  if (type == nullptr) type = text_of(root, "model_type");
  NamedClass out{nullptr, name == nullptr ? "" : *name, type == nullptr ? "" : *type};
  for (const Family* family : families()) {
    const bool is_it = name != nullptr ? has_word(family->architectures, *name)
                                       : has_word(family->model_types, out.model_type);
    if (is_it && out.family == nullptr) out.family = family;
  }
  return out;
}

std::string NamedClass::words() const {
  return architecture.empty() ? fmt::format("model_type '{}' without architectures", model_type)
                              : fmt::format("architecture '{}'", architecture);
}

const JsonValue* Model::field(std::string_view fields) const {
  const JsonValue* found = first_present(config, fields);
  return found != nullptr && found->is_null() ? nullptr : found;
}

Result<uint64_t> Model::count(std::string_view fields) const {
  const JsonValue* found = field(fields);
  if (found == nullptr) return corrupt("config.json: no {}", fields);
  const auto value = whole(*found);
  if (!value || *value > UINT32_MAX) {
    return corrupt("config.json: {} is {}; expected a whole number", fields, found->dump());
  }
  return *value;
}

Result<uint64_t> Model::dropped_positions() const {
  if (field("pad_token_id") == nullptr) return 0;
  CKPT_ASSIGN(const uint64_t padding, count("pad_token_id"));
  return padding + 1;
}

Result<uint64_t> Model::head_values() const {
  if (field("head_dim") != nullptr) return count("head_dim");
  CKPT_ASSIGN(const uint64_t hidden, count("hidden_size"));
  CKPT_ASSIGN(const uint64_t heads, count("num_attention_heads"));
  if (heads == 0) return corrupt("config.json: num_attention_heads is 0");
  return hidden / heads;
}

// Replaces a list with the base of each layer by two: the first layer has full attention, the
// second a window.
void name_listed_bases(JsonValue& config) {
  const JsonValue bases = list_in(config, "rope_theta");
  if (bases.size() < 2) return;
  config["rope_theta"] = bases[0];
  config["local_rope_theta"] = bases[1];
}

Result<Model> read_model(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto root, read_object(checkpoint, "config.json"));
  if (!root) {
    return misuse_hint("--base MODEL, which has it, or the folder that holds it and the weights",
                       "no config.json; a Hugging Face checkpoint has one");
  }
  Model model;
  model.root = *root;
  const JsonValue* text = find_text_config(model.root);
  const NamedClass found = find_class(model.root);
  if (found.family == nullptr) {
    return unsupported_hint("ckpt list families, which names those that are",
                            "config.json: {} is not converted", found.words());
  }
  model.family = found.family;
  model.architecture = found.architecture;
  model.config = merged_config(model.root);
  name_listed_bases(model.config);
  if (const auto layers = layer_count(model.config)) model.config["num_hidden_layers"] = *layers;
  CKPT_ASSIGN(model.family, selected_form(model.family, model.config));
  for (const std::string_view field : split_words(model.family->forms.unread)) {
    model.config.erase(std::string(field));
  }
  JsonValue level = rope_level(model, text);
  if (!is_bare(model)) level = level_with_default(std::move(level), model);
  model.rope = complete_rope(level, model.config);
  model.rope_conflict = rope_conflict(level, is_bare(model) ? nullptr : model.family);
  if (!is_bare(model)) {
    for (const ClassDefault& field : model.family->defaults) {
      if (field.read_by == ReadBy::kShapes) continue;
      CKPT_TRY(fill_default(model.rope, model.config, field));
    }
  }
  if (known(model.rope, "full_attention") != nullptr) {  // one dictionary per type of layer
    complete_layer_types(model.rope, model.config);
  } else {
    for (const char* name :
         {"rope_theta", "partial_rotary_factor", "original_max_position_embeddings"}) {
      mirror(model.rope, model.config, name, name);
    }
    const JsonValue* local = known(model.config, "rope_local_base_freq");
    if (local != nullptr && !model.rope.contains("sliding_attention")) {
      model.rope["sliding_attention"] = {{"rope_theta", *local}};
    }
  }
  CKPT_ASSIGN(model.layers, model.count("n_layers num_hidden_layers n_layer num_layers"));
  if (model.layers == 0) {
    return corrupt_hint("config.json of the model that these weights are of",
                        "config.json: num_hidden_layers is 0; expected at least 1");
  }
  if (model.family->forms.reranker != nullptr && is_reranker(checkpoint, model)) {
    CKPT_ASSIGN(model.family, selected_form(model.family->forms.reranker, model.config));
    CKPT_SET(model.answers, answer_tokens(checkpoint));
  }
  return model;
}

// Fields that list the type of each layer. transformers 5 saves Nemotron-H with the second one.
constexpr std::string_view kLayerLists = "layer_types layers_block_type";

Result<std::vector<ResolvedLayer>> layers_of(const Model& model) {
  const std::string* letters = text_of(model.config, "hybrid_override_pattern");
  if (letters != nullptr && letters->size() != model.layers) {
    return corrupt("config.json: hybrid_override_pattern has {} letters; expected {}",
                   letters->size(), model.layers);
  }
  const JsonValue* types = letters != nullptr ? nullptr : model.field(kLayerLists);
  const bool may_be_longer = model.family->drafts.nextn == NextnLayers::kKept;
  if (types != nullptr && (!types->is_array() || types->size() < model.layers ||
                           (types->size() > model.layers && !may_be_longer))) {
    return corrupt("config.json: layer_types has {} entries; expected {}", types->size(),
                   model.layers);
  }
  return resolve_layers(*model.family, model.config, model.layers);
}

Result<std::vector<ResolvedLayer>> hybrid_layers(const Model& model) {
  const bool needs_mamba = !model.family->sizes.norm_groups.empty() &&
                           text_of(model.config, "hybrid_override_pattern") == nullptr;
  if (needs_mamba && model.field(kLayerLists) == nullptr) {
    return corrupt("config.json: no layer_types or hybrid_override_pattern; {} needs one of them",
                   model.architecture);
  }
  CKPT_ASSIGN(std::vector<ResolvedLayer> layers, layers_of(model));
  if (needs_mamba && std::ranges::none_of(layers, &ResolvedLayer::is_recurrent)) {
    return unsupported(
        "config.json: neither layer_types nor hybrid_override_pattern names a Mamba layer of {}",
        model.architecture);
  }
  return layers;
}

Result<std::string_view> target_of(const Match& match, const Model& model) {
  if (match.rule->change != Change::kByMixer) return match.rule->to;
  CKPT_ASSIGN(const std::vector<ResolvedLayer> layers, layers_of(model));
  const auto layer = number_from<uint64_t>(match.numbers[0]);
  const bool is_recurrent = layer && *layer < layers.size() && layers[*layer].is_recurrent();
  return is_recurrent ? match.rule->to : match.rule->second;
}

Result<std::vector<bool>> layers_of_type(const Model& model, std::string_view type) {
  CKPT_ASSIGN(const std::vector<ResolvedLayer> layers, layers_of(model));
  std::vector<bool> out;
  for (const ResolvedLayer& layer : layers) out.push_back(layer.type == type);
  return out;
}

uint64_t file_type(const Model& model) {
  constexpr uint64_t kNvfp4 = 39;
  constexpr uint64_t kMxfp4Moe = 38;
  constexpr uint64_t kMostlyQ4_0 = 2;
  const bool is_plain = model.out_type != OutType::kQ8_0;
  if (is_plain && model.is_nvfp4) return kNvfp4;
  if (is_plain && model.is_mxfp4) return kMxfp4Moe;
  if (is_plain && model.keeps_codes) return kMostlyQ4_0;
  return file_type(model.out_type);
}
uint64_t file_type(OutType type) { return row_of(type).file_type; }
Dtype dtype_of(OutType type) { return row_of(type).dtype; }

}  // namespace ckpt
