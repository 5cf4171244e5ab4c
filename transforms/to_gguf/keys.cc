// Hyperparameters as keys: first the rows of kCommonKeys, then those of the family (llama.cpp
// conversion/base.py TextModel.set_gguf_parameters and the family's).
#include "transforms/to_gguf/keys.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/arithmetic.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/tokenizer/special.h"

namespace ckpt {
namespace {

MetaValue constant_of(const KeyRule& rule) {
  if (rule.type == MetaType::kText) return MetaValue::text(std::string(rule.fields));
  if (rule.type == MetaType::kBool) return MetaValue::boolean(rule.fields == "true");
  return MetaValue::f32(std::strtod(std::string(rule.fields).c_str(), nullptr));
}

const JsonValue* rope_sections_of(const JsonValue& rope) {
  const JsonValue* sections = member(rope, "mrope_section");
  return sections == nullptr ? member(rope, "xdrope_section") : sections;
}

struct KeyWriter {
  const Checkpoint& checkpoint;
  const Model& model;
  Metadata& out;

  std::string full(std::string_view key) const {
    if (key.starts_with("general.") || key.starts_with("tokenizer.")) return std::string(key);
    return fmt::format("{}.{}", model.family->name, key);
  }
  const JsonValue& rope() const {
    const JsonValue* full_attention = known(model.rope, "full_attention");
    return full_attention == nullptr ? model.rope : *full_attention;
  }

  Status set(std::string_view key, MetaType type, const JsonValue& value) const {
    if (type == MetaType::kU32 && value.is_array() && may_be_list(key)) {
      return set_counts(key, value);
    }
    if (type == MetaType::kU32) {
      const auto count = whole(value);
      if (!count || *count > UINT32_MAX) {
        return corrupt("config.json: {} would be {}; expected a whole number", full(key),
                       value.dump());
      }
      return set_count(key, *count);
    }
    if (type == MetaType::kBool) {
      if (!value.is_boolean() && !value.is_number()) {  // defaults are numbers
        return corrupt("config.json: {} would be {}; expected true or false", full(key),
                       value.dump());
      }
      out.set(full(key), MetaValue::boolean(is_truthy(&value)));
      return {};
    }
    if (type == MetaType::kText) {
      const auto* text = value.get_ptr<const std::string*>();
      if (text == nullptr) {
        return corrupt("config.json: {} would be {}; expected a text", full(key), value.dump());
      }
      out.set(full(key), MetaValue::text(*text));
      return {};
    }
    const auto real = number(value);
    if (!real) {
      return corrupt("config.json: {} would be {}; expected a number", full(key), value.dump());
    }
    out.set(full(key), MetaValue::f32(*real));
    return {};
  }

  bool may_be_list(std::string_view key) const {
    const auto known = find_gguf_key(model.family->name, full(key));
    return known && known->kind == 'U';
  }
  // Sets a list with a number per layer.
  Status set_counts(std::string_view key, const JsonValue& list) const {
    std::vector<int32_t> numbers;
    for (const JsonValue& entry : list) {
      const auto count = whole(entry);
      if (!count || *count > INT32_MAX) {
        return corrupt("config.json: {} would have {}; expected whole numbers", full(key),
                       entry.dump());
      }
      numbers.push_back(static_cast<int32_t>(*count));
    }
    if (numbers.size() != model.layers) {
      return corrupt("config.json: {} would have {} numbers; expected {}", full(key),
                     numbers.size(), model.layers);
    }
    out.set(full(key), MetaValue::array(make_i32_array(numbers)));
    return {};
  }

  // Does nothing if `value` is null.
  Status set_known(const KeyRule& rule, const JsonValue* value) const {
    return value == nullptr ? Status() : set(rule.key, rule.type, *value);
  }

  Status rope_scaling() const {
    for (const char* key : {"rope_type", "type"}) {
      const JsonValue* declared = member(rope(), key);
      if (declared == nullptr || declared->is_string()) continue;
      return corrupt("config.json: {} of the rotary scaling is {}; expected a text", key,
                     declared->dump());
    }
    const std::string* type = text_of(rope(), "rope_type");
    if (type == nullptr) return {};
    if (*type == "su" || *type == "longrope") {
      out.set(full("rope.scaling.type"), MetaValue::text("longrope"));
      return {};
    }
    const JsonValue* factor = known(rope(), "factor");
    if (factor == nullptr || (*type != "linear" && *type != "yarn")) return {};
    out.set(full("rope.scaling.type"), MetaValue::text(*type));
    CKPT_TRY(set("rope.scaling.factor", MetaType::kF32, *factor));
    if (*type == "linear") return {};
    const JsonValue* context = member(rope(), "original_max_position_embeddings");
    if (context == nullptr) context = model.field("max_position_embeddings");
    if (context == nullptr) {
      return corrupt("config.json: yarn scaling without original_max_position_embeddings");
    }
    CKPT_TRY(set("rope.scaling.original_context_length", MetaType::kU32, *context));
    struct YarnRow {
      const char *key, *field, *other;
    };
    static constexpr YarnRow kYarnRows[] = {
        {"rope.scaling.yarn_ext_factor", "extrapolation_factor", ""},
        {"rope.scaling.yarn_attn_factor", "attention_factor", "attn_factor"},
        {"rope.scaling.yarn_beta_fast", "beta_fast", ""},
        {"rope.scaling.yarn_beta_slow", "beta_slow", ""},
    };
    for (const YarnRow& row : kYarnRows) {
      const JsonValue* value = member(rope(), row.field);
      if (value == nullptr) value = member(rope(), row.other);
      if (value != nullptr && !value->is_null()) CKPT_TRY(set(row.key, MetaType::kF32, *value));
    }
    return {};
  }

  Status rope_sections() const {
    const JsonValue* sections = rope_sections_of(model.rope);
    if (sections == nullptr) return {};
    std::vector<int32_t> numbers;
    for (const JsonValue& section : *sections) {
      const auto value = whole(section);
      if (!value || *value > INT32_MAX || numbers.size() >= 4) break;
      numbers.push_back(static_cast<int32_t>(*value));
    }
    if (!sections->is_array() || (numbers.size() < sections->size() && numbers.size() < 4)) {
      return corrupt("config.json: mrope_section is {}; expected whole numbers", sections->dump());
    }
    numbers.resize(4, 0);
    out.set(full("rope.dimension_sections"), MetaValue::array(make_i32_array(numbers)));
    return {};
  }

  Status recurrent_layers() const {
    constexpr const char* kInterval = "full_attention_interval";
    if (model.field("layer_types") == nullptr && model.config.contains(kInterval)) {
      CKPT_ASSIGN(const uint64_t interval, model.count(kInterval));
      if (interval == 0) return corrupt("config.json: {} is 0", kInterval);
    }
    CKPT_ASSIGN(std::vector<bool> flags, layers_of_type(model, "linear_attention"));
    flags.resize(model.blocks(), false);
    out.set(full("attention.recurrent_layers"), MetaValue::array(make_bool_array(flags)));
    return {};
  }

  Status gating_function(const KeyRule& rule) const {
    const JsonValue* value = model.field(rule.fields);
    if (value == nullptr) return {};
    if (*value == "softmax") return set_count(rule.key, 1);
    if (*value == "sigmoid") return set_count(rule.key, 2);
    if (*value == "sqrtsoftplus") return set_count(rule.key, 4);
    return unsupported(
        "config.json: experts are chosen by {}; known are softmax, sigmoid and sqrtsoftplus",
        value->dump());
  }

  Status partial_rotary(const KeyRule& rule) const {
    const bool is_of_rope = rule.fields == "qk_rope_head_dim";
    CKPT_ASSIGN(const uint64_t head, is_of_rope ? model.count(rule.fields) : model.head_values());
    const JsonValue* factor = member(model.rope, "partial_rotary_factor");
    const double otherwise = rule.fields == "0.5" ? 0.5 : is_of_rope ? 1 : 0.25;
    CKPT_ASSIGN(const double part, share_of(factor, "partial_rotary_factor", otherwise));
    return set_count(rule.key, static_cast<uint64_t>(static_cast<double>(head) * part));
  }

  // llama.cpp conversion/base.py _try_set_pooling_type; values: include/llama.h
  // `llama_pooling_type`.
  Status pooling(const KeyRule& rule) const {
    const Document* modules = checkpoint.find_document("modules.json");
    if (modules == nullptr) return {};
    CKPT_ASSIGN(const auto list, modules->values());
    for (const JsonValue& entry : *list) {
      const std::string* type = text_of(entry, "type");
      const std::string* path = text_of(entry, "path");
      if (type == nullptr || path == nullptr || !type->ends_with("Pooling")) continue;
      const std::string file = *path + "/config.json";
      CKPT_ASSIGN(const auto config, read_object(checkpoint, file));
      if (!config) return corrupt("{}: named by modules.json, but missing", file);
      const std::string_view mode = text_in(*config, "pooling_mode");
      if (is_truthy(known(*config, "pooling_mode_mean_tokens"))) return set_count(rule.key, 1);
      if (is_truthy(known(*config, "pooling_mode_cls_token"))) return set_count(rule.key, 2);
      if (is_truthy(known(*config, "pooling_mode_lasttoken"))) return set_count(rule.key, 3);
      if (mode == "mean") return set_count(rule.key, 1);
      if (mode == "cls") return set_count(rule.key, 2);
      if (mode == "lasttoken") return set_count(rule.key, 3);
      return unsupported("{}: pooling other than mean, cls and lasttoken", file);
    }
    return {};
  }

  Status counts_where(const KeyRule& rule, bool (ResolvedLayer::*is_so)() const) const {
    const auto constant = number_from<uint64_t>(rule.fields);
    CKPT_ASSIGN(const uint64_t number,
                constant ? Result<uint64_t>(*constant) : model.count(rule.fields));
    CKPT_ASSIGN(const std::vector<ResolvedLayer> layers, hybrid_layers(model));
    std::vector<int32_t> counts;
    const auto add = [&](const ResolvedLayer& layer) {
      counts.push_back((layer.*is_so)() ? static_cast<int32_t>(number) : 0);
    };
    for (const ResolvedLayer& layer : layers) add(layer);
    for (uint64_t i = 0; i < model.mtp_layers; ++i) add({"full_attention"});
    out.set(full(rule.key), MetaValue::array(make_i32_array(counts)));
    return {};
  }

  // llama.cpp assumes 10000 if the key is missing, even if that is not the model's value.
  Status rope_base(const KeyRule& rule) const {
    const JsonValue* base = known(rope(), "rope_theta");
    if (base == nullptr && known(model.rope, "full_attention") != nullptr) {
      return corrupt("config.json: rope_parameters.full_attention has no rope_theta");
    }
    return set_known(rule, base);
  }

  Status rope_field(const KeyRule& rule) const {
    const JsonValue* value = known(model.rope, rule.fields);
    if (value != nullptr) return set(rule.key, rule.type, *value);
    return corrupt("config.json: rope_parameters have no {}", rule.fields);
  }

  Result<double> real(std::string_view field) const {
    const auto value = number(model.field(field));
    if (value) return *value;
    return corrupt("config.json: {} is missing, or not a number", field);
  }

  Status ratio(const KeyRule& rule) const {
    const size_t over = rule.fields.find('/');
    CKPT_ASSIGN(const double value, real(rule.fields.substr(0, over)));
    CKPT_ASSIGN(const double divisor, real(rule.fields.substr(over + 1)));
    if (divisor != 0) return set(rule.key, rule.type, JsonValue(value / divisor));
    return corrupt("config.json: {} is 0", rule.fields.substr(over + 1));
  }

  // Writes dynamic RoPE scaling with an alpha as a larger base and a context of 2^18 tokens, as
  // llama.cpp's converter does whatever the context in config.json is
  // (conversion/hunyuan.py set_gguf_parameters, which knows only these bases and contexts).
  Status alpha_rope(const KeyRule& rule) const {
    const bool has_sections = rope_sections_of(model.rope) != nullptr;
    if (text_in(rope(), "rope_type") != "dynamic" || has_sections) return {};
    constexpr uint64_t kContext = 262144;
    const auto base = number(known(rope(), "rope_theta"));
    const double usual = std::strtod(std::string(rule.fields).c_str(), nullptr);
    const double alpha = number(known(rope(), "alpha")).value_or(usual);
    CKPT_ASSIGN(const uint64_t declared, model.count("max_position_embeddings"));
    CKPT_ASSIGN(const uint64_t head, model.head_values());
    if (base != 10000.0 || (declared != 32768 && declared != kContext) || head <= 2) {
      return unsupported(
          "config.json: dynamic RoPE of base {} for {} positions; known is 10000 for 32768 or {}",
          base.value_or(0), declared, kContext);
    }
    const auto size = static_cast<double>(head);
    CKPT_TRY(set("rope.freq_base", MetaType::kF32,
                 JsonValue(*base * std::pow(alpha, size / (size - 2)))));
    out.set(full("rope.scaling.type"), MetaValue::text("none"));
    CKPT_TRY(set("rope.scaling.factor", MetaType::kF32, JsonValue(1)));
    CKPT_TRY(set_count("rope.scaling.original_context_length", kContext));
    return set_count("context_length", kContext);
  }

  Status unless_one(const KeyRule& rule) const {
    const MetaValue* value = out.find(full(rule.key));
    if (value != nullptr && *value == MetaValue::u32(1)) out.remove(full(rule.key));
    return {};
  }

  Status xd_rope() const {
    const std::string_view type = text_in(rope(), "rope_type");
    const bool has_sections = rope_sections_of(model.rope) != nullptr;
    if (type != "xdrope" && (type != "dynamic" || !has_sections)) return {};
    out.set(full("rope.scaling.type"), MetaValue::text("none"));
    const JsonValue* factor = known(rope(), "factor");
    CKPT_TRY(set("rope.scaling.factor", MetaType::kF32,
                 factor == nullptr ? JsonValue(1) : *factor));
    const JsonValue* alpha = known(rope(), "alpha");
    if (alpha == nullptr) return corrupt("config.json: {} scaling of RoPE has no alpha", type);
    CKPT_TRY(set("rope.scaling.alpha", MetaType::kF32, *alpha));
    CKPT_ASSIGN(const uint64_t context, model.count("max_position_embeddings"));
    return set_count("rope.scaling.original_context_length", context);
  }

  // Writes an array with the value of one tensor in each layer.
  Status layer_scalars(const KeyRule& rule) const {
    std::vector<float> values;
    for (uint64_t layer = 0; layer < model.layers; ++layer) {
      const std::string name = fill_in(rule.fields, {std::to_string(layer)});
      const Tensor* tensor = checkpoint.find_tensor(name);
      if (tensor == nullptr) return corrupt("tensor '{}' is missing", name);
      CKPT_ASSIGN(const std::vector<float> found, read_values(*tensor, 1));
      if (found.size() != 1) {
        return corrupt("tensor '{}' has {} values; expected one", name, found.size());
      }
      values.push_back(found[0]);
    }
    out.set(std::string(rule.key), MetaValue::array(make_f32_array(values)));
    return {};
  }

  Status tensor_numbers(const KeyRule& rule) const {
    constexpr uint64_t kMostNumbers = 1 << 16;
    std::vector<std::string> numbers;
    for (const Tensor& tensor : checkpoint.tensors) {
      const std::string name = own_name(*model.family, tensor.name);
      if (!matches_pattern(rule.fields, name, numbers)) continue;
      CKPT_ASSIGN(const auto found, read_integers(tensor, kMostNumbers));
      if (!found) return corrupt("tensor '{}' has no whole numbers", tensor.name);
      out.set(full(rule.key), MetaValue::array(make_u64_array({found->begin(), found->end()})));
      return {};
    }
    return corrupt("tensor '{}' is missing", rule.fields);
  }

  Status last(const KeyRule& rule) const {
    const JsonValue* value = model.field(rule.fields);
    if (value == nullptr) return corrupt("config.json: no {}", rule.fields);
    const bool is_list = value->is_array() && !value->empty();
    return set(rule.key, rule.type, is_list ? value->back() : *value);
  }

  // Returns nullptr if there is none.
  Result<const JsonValue*> list(const KeyRule& rule) const {
    const JsonValue* found = model.field(rule.fields);
    if (found == nullptr || found->is_array()) return found;
    return corrupt("config.json: {} is {}; expected a list", rule.fields, found->dump());
  }

  Status position_count(const KeyRule& rule) const {
    CKPT_ASSIGN(const uint64_t dropped, model.dropped_positions());
    CKPT_ASSIGN(const uint64_t count, model.count(rule.fields));
    if (dropped < count) return set_count(rule.key, count - dropped);
    return corrupt("config.json: {} is {}; expected more than pad_token_id {}", rule.fields, count,
                   dropped - 1);
  }

  Status labels(const KeyRule& rule) const {
    CKPT_ASSIGN(std::vector<std::string> texts, class_labels(model.config));
    if (has_unnamed_labels(model.config)) return {};
    out.set(full(rule.key), MetaValue::array(make_text_array(std::move(texts))));
    return {};
  }

  // Some classes compute the flags if config.json lacks the list: from a text of letters, or from a
  // step and a first layer. The rule then names these fields, too.
  Status full_layers(const KeyRule& rule) const {
    const std::vector<std::string_view> fields = split_words(rule.fields);
    const JsonValue* types = model.field(fields[0]);
    std::vector<bool> flags;
    if (types != nullptr && !types->is_array()) {
      return corrupt("config.json: {} is {}; expected a list", fields[0], types->dump());
    }
    if (types == nullptr && fields.size() == 1) return {};
    for (const JsonValue& type : list_in(model.config, fields[0])) flags.push_back(type == "full");
    if (types == nullptr) CKPT_SET(flags, usual_full_layers(fields));
    out.set(full(rule.key), MetaValue::array(make_bool_array(flags)));
    return {};
  }

  // Tells which layers have full attention. `fields` names, after the list of layers, three others:
  // one with a letter for each layer, one with the step from a full layer to the next, and one with
  // the first layer that may be another.
  Result<std::vector<bool>> usual_full_layers(const std::vector<std::string_view>& fields) const {
    std::vector<bool> flags;
    if (const std::string* letters = text_of(model.config, fields[1])) {
      for (const char letter : *letters) flags.push_back(letter == 'F');
      return flags;
    }
    const auto number_or = [&](std::string_view field, uint64_t usual) {
      return model.field(field) == nullptr ? Result<uint64_t>(usual) : model.count(field);
    };
    CKPT_ASSIGN(const uint64_t step, number_or(fields[2], 1));
    CKPT_ASSIGN(const uint64_t start, number_or(fields[3], 2));
    for (uint64_t layer = 1; layer <= model.layers; ++layer) {
      flags.push_back(layer <= start || (layer - start) % std::max<uint64_t>(step, 1) == 0);
    }
    return flags;
  }

  Status whole_list(const KeyRule& rule) const {
    const bool counts_from_one = rule.source == KeySource::kLessOne;
    if (model.field(rule.fields) == nullptr) return corrupt("config.json: no {}", rule.fields);
    std::vector<int32_t> numbers;
    for (const JsonValue& entry : list_in(model.config, rule.fields)) {
      const auto count = whole(entry);
      if (!count || *count > INT32_MAX || (counts_from_one && *count == 0)) {
        return corrupt("config.json: {} has {}; expected whole numbers{}", rule.fields,
                       entry.dump(), counts_from_one ? " from 1 on" : "");
      }
      numbers.push_back(static_cast<int32_t>(*count - (counts_from_one ? 1 : 0)));
    }
    out.set(full(rule.key), MetaValue::array(make_i32_array(numbers)));
    return {};
  }

  Status no_window(const KeyRule& rule) const {
    CKPT_ASSIGN(const JsonValue* types, list(rule));
    if (types == nullptr) return {};
    for (const JsonValue& type : *types) {
      if (type != "full_attention") return {};
    }
    return set_count(rule.key, 0);
  }

  Status write(const KeyRule& rule) const {
    const bool is_of_type =
        rule.model_type.empty() || text_in(model.config, "model_type") == rule.model_type;
    if (!is_of_type) return {};
    const JsonValue* field = model.field(rule.fields);
    switch (rule.source) {
      case KeySource::kField: return set_known(rule, field);
      case KeySource::kFieldUnlessZero: return set_known(rule, is_truthy(field) ? field : nullptr);
      case KeySource::kRopeBaseSliding:
        return set_known(rule, known(known(model.rope, "sliding_attention"), "rope_theta"));
      case KeySource::kRopeBase: return rope_base(rule);
      case KeySource::kBlockCount: return set_count(rule.key, model.blocks());
      case KeySource::kCausal:
        if (field != nullptr && *field == false) out.set(full(rule.key), MetaValue::boolean(false));
        return {};
      case KeySource::kRopeScaling: return rope_scaling();
      case KeySource::kRopeSections: return rope_sections();
      case KeySource::kGatingFunction: return gating_function(rule);
      case KeySource::kFileType: return set_count(rule.key, file_type(model));
      case KeySource::kNextnLayers:
        return model.mtp_layers == 0 ? Status() : set_count(rule.key, model.mtp_layers);
      case KeySource::kRecurrentLayers: return recurrent_layers();
      case KeySource::kAttentionInterval: {
        const JsonValue* value = member(model.config, rule.fields);
        return value == nullptr ? set_count(rule.key, 4) : set(rule.key, rule.type, *value);
      }
      case KeySource::kPartialRotary: return partial_rotary(rule);
      case KeySource::kRotary: {
        CKPT_ASSIGN(const uint64_t head, model.head_values());
        return set_count(rule.key, head);
      }
      case KeySource::kDefaultSections:
        if (member(model.rope, "mrope_section") == nullptr) {
          out.set(full(rule.key), MetaValue::array(make_i32_array({11, 11, 10, 0})));
        }
        return {};
      case KeySource::kPooling: return pooling(rule);
      case KeySource::kFieldOrZero:
        return field == nullptr ? set_count(rule.key, 0) : set(rule.key, rule.type, *field);
      default: return write_computed(rule);
    }
  }

  Status write_computed(const KeyRule& rule) const {
    switch (rule.source) {
      case KeySource::kNumberUnlessZero:
      case KeySource::kNumber: {
        CKPT_ASSIGN(const uint64_t value,
                    number_of_fields(*model.family, model.config, rule.fields));
        if (value == 0 && rule.source == KeySource::kNumberUnlessZero) return {};
        return set(rule.key, rule.type, JsonValue(value));
      }
      case KeySource::kRopeField:
      case KeySource::kRopeNeeded: return rope_field(rule);
      case KeySource::kRopeTenth: {
        const JsonValue* value = known(model.rope, rule.fields);
        if (value == nullptr) return {};
        const auto real = number(*value);
        return real ? set(rule.key, rule.type, JsonValue(0.1 * *real)) : rope_field(rule);
      }
      case KeySource::kConstant:
        out.set(full(rule.key), constant_of(rule));
        return {};
      case KeySource::kMlpWidths: return counts_where(rule, &ResolvedLayer::is_mlp);
      case KeySource::kExpertWidths: return counts_where(rule, &ResolvedLayer::is_experts);
      case KeySource::kFieldIfTrue:
        if (is_truthy(model.field(rule.fields))) out.set(full(rule.key), MetaValue::boolean(true));
        return {};
      case KeySource::kFullLayers: return full_layers(rule);
      case KeySource::kNoWindow: return no_window(rule);
      case KeySource::kNextnSaid:
        return set_known(rule, model.keeps_mtp ? model.field(rule.fields) : nullptr);
      case KeySource::kAttentionHeads: return counts_where(rule, &ResolvedLayer::is_attention);
      case KeySource::kRatio: return ratio(rule);
      case KeySource::kByRootOfLayers: {
        CKPT_ASSIGN(const double value, real(rule.fields));
        return set(rule.key, rule.type,
                   JsonValue(value / std::sqrt(static_cast<double>(model.layers))));
      }
      case KeySource::kAlphaRope: return alpha_rope(rule);
      case KeySource::kXdRope: return xd_rope();
      case KeySource::kUnlessOne: return unless_one(rule);
      case KeySource::kLayerScalars: return layer_scalars(rule);
      case KeySource::kPositionCount: return position_count(rule);
      case KeySource::kLabels: return labels(rule);
      case KeySource::kDense:
        for (const DenseModule& module : model.dense) {
          CKPT_TRY(set_count(module.name + "_feat_in", module.inputs));
          CKPT_TRY(set_count(module.name + "_feat_out", module.outputs));
        }
        return {};
      case KeySource::kWords: {
        const auto words = split_words(rule.fields);
        out.set(full(rule.key), MetaValue::array(make_text_array({words.begin(), words.end()})));
        return {};
      }
      default: return write_other(rule);
    }
  }

  Status write_other(const KeyRule& rule) const {
    switch (rule.source) {
      case KeySource::kTensorNumbers: return tensor_numbers(rule);
      case KeySource::kLast: return last(rule);
      case KeySource::kLessOne:
      case KeySource::kWholeList: return whole_list(rule);
      case KeySource::kChatTemplate:
        out.set(full(rule.key), MetaValue::text(chat_of_class(model.family->tokenizer.chat,
                                                              checkpoint.name)));
        return {};
      default: {
        CKPT_ASSIGN(const std::optional<MetaValue> value, attention_key(rule, model));
        if (value) out.set(full(rule.key), *value);
        return {};
      }
    }
  }

  Status set_count(std::string_view key, uint64_t value) const {
    out.set(full(key), MetaValue::u32(value));
    return {};
  }
};

}  // namespace

Status add_model_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata) {
  const KeyWriter writer{checkpoint, model, metadata};
  if (model.family->keys_around.has_common) {
    for (const KeyRule& rule : kCommonKeys) {
      if (model.family->sizes.ignores_head_dim && rule.fields == "head_dim") continue;
      CKPT_TRY(writer.write(rule));
    }
  }
  for (const KeyRule& rule : model.family->keys) CKPT_TRY(writer.write(rule));
  for (const KeyRule& rule : model.family->keys_around.more) CKPT_TRY(writer.write(rule));
  return {};
}

Status add_early_keys(const Checkpoint& checkpoint, const Model& model, Metadata& metadata) {
  const KeyWriter writer{checkpoint, model, metadata};
  for (const KeyRule& rule : model.family->keys_around.early) CKPT_TRY(writer.write(rule));
  return {};
}

TokenizerOptions tokenizer_options_of(const Model& model, std::optional<uint64_t> rows) {
  TokenizerOptions out;
  if (const JsonValue* size = model.field("vocab_size")) out.vocab_size = whole(*size);
  const bool is_nested = known(known(model.root, "text_config"), "vocab_size") != nullptr;
  out.vocab_size_field = is_nested ? "text_config.vocab_size" : "vocab_size";
  const uint64_t multiple = model.family->sizes.vocabulary_multiple;
  if (out.vocab_size && *out.vocab_size <= UINT32_MAX) {
    *out.vocab_size = (*out.vocab_size + multiple - 1) / multiple * multiple;
  }
  if (rows) out.most_tokens = *rows + multiple - 1;
  const JsonValue* segments = model.field("type_vocab_size");
  out.segments = segments == nullptr ? 1 : whole(*segments).value_or(1);
  out.rules = model.family->tokenizer;
  return out;
}

}  // namespace ckpt
