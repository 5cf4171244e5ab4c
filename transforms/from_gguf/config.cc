// config.json from the keys of a GGUF: the rows of a family's table, read backwards.
//
//   qwen3.attention.head_count = 32   KeyRule {"attention.head_count", "num_attention_heads ..."}
//        └──────────────▶ "num_attention_heads": 32
//
// Facts without a key follow from the present tensors (biases, a separate head) and from a table of
// constants; the model's class decides the rest. The caller verifies the result by making the keys
// again.
#include <algorithm>
#include <cmath>

#include "core/base/arithmetic.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "transforms/from_gguf/config_fields.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/to_gguf/keys.h"

namespace ckpt {
namespace {

constexpr std::string_view kLatentRotary = "qk_rope_head_dim";
constexpr const char* kHeadSize = "head_dim";

// The class of a text model, if the family has one in addition to its wrapper.
std::string_view text_class_of(std::string_view architectures) {
  for (const std::string_view word : split_words(architectures)) {
    if (word.ends_with("ForCausalLM")) return word;
  }
  return take_word(architectures);
}

// The number of the fewest digits near `number` that `fits`; `number` if none does.
template <class Fits>
double shortest_number(double number, const Fits& fits) {
  for (int digits = 1; digits < 17; ++digits) {
    const double rounded = std::strtod(fmt::format("{:.{}g}", number, digits).c_str(), nullptr);
    if (fits(rounded)) return rounded;
  }
  return number;
}

class ConfigReader {
 public:
  ConfigReader(const Checkpoint& file, const Family& family) : file_(file), family_(family) {}

  Result<JsonValue> run(std::string_view dtype) {
    CKPT_TRY(check_counts());
    list_rules();
    for (int pass = 0; pass < 2; ++pass) {  // a product needs facts of later rows
      for (size_t i = 0; i < rules_.size(); ++i) {
        if (!is_replaced(i)) take(*rules_[i]);
      }
    }
    // The context may have no field if the family uses one for all its models.
    const MetaValue* context = key("context_length");
    if (context != nullptr && !config_.contains("max_position_embeddings")) {
      config_["max_position_embeddings"] = json_of(*context);
    }
    take_head_size();
    take_names(dtype);
    add_tensor_fields(file_, family_, layers(), config_);
    for (const char* id : {"bos_token_id", "eos_token_id", "pad_token_id"}) config_[id] = nullptr;
    add_token_ids(file_.metadata, config_);
    CKPT_TRY(add_graph_constants());
    if (const JsonValue* rotated = known(config_, "rotary_dim")) {
      take_rotated(kHeadSize, whole(*rotated).value_or(0), config_, rope_);
    }
    CKPT_TRY(add_rope_rule(file_, family_, rope_));
    finish_rope(family_, rope_, config_);
    return std::move(config_);
  }

 private:
  const MetaValue* key(std::string_view name) const {
    const bool is_general = name.starts_with("general.");
    return file_.metadata.find(is_general ? std::string(name)
                                          : fmt::format("{}.{}", family_.name, name));
  }
  // Writes head_dim as llama.cpp computes it, if no key of the family holds it and the class would
  // assume another number.
  void take_head_size() {
    const bool is_assumed = std::ranges::any_of(family_.defaults, [](const ClassDefault& row) {
      return row.field == kHeadSize && number_from<uint64_t>(row.value).has_value();
    });
    if (is_assumed && !config_.contains(kHeadSize)) config_[kHeadSize] = head_size();
  }

  // The field among `fields` that the family's class has.
  std::string field_of(std::string_view fields) const {
    const std::vector<std::string_view> words = split_words(fields);
    for (const std::string_view word : words) {
      if (has_word(family_.keys_around.own_spellings, word)) return std::string(word);
    }
    for (const std::string_view word : words) {
      for (const ClassDefault& field : family_.defaults) {
        if (field.read_by != ReadBy::kShapes && field.field == word) return std::string(word);
      }
    }
    for (const std::string_view word : words) {
      for (const ClassDefault& field : family_.defaults) {
        if (field.field == word) return std::string(word);
      }
    }
    return std::string(take_word(fields));
  }

  std::optional<uint64_t> count_at(std::string_view name) const {
    return file_.metadata.find_unsigned(fmt::format("{}.{}", family_.name, name));
  }

  uint64_t layers() const {
    const uint64_t blocks = count_at("block_count").value_or(0);
    return blocks - std::min(blocks, count_at("nextn_predict_layers").value_or(0));
  }

  void list_rules() {
    const auto add = [this](std::span<const KeyRule> list) {
      for (const KeyRule& rule : list) rules_.push_back(&rule);
    };
    if (family_.keys_around.has_common) {
      for (const KeyRule& rule : kCommonKeys) {
        if (!family_.sizes.ignores_head_dim || rule.fields != kHeadSize) rules_.push_back(&rule);
      }
    }
    add(family_.keys);
    add(family_.keys_around.more);
    add(family_.keys_around.early);
  }

  // Whether a later row always writes the same key.
  bool is_replaced(size_t number) const {
    return std::any_of(
        rules_.begin() + static_cast<long>(number) + 1, rules_.end(), [&](const KeyRule* rule) {
          const bool is_always =
              rule->source == KeySource::kNumber || rule->source == KeySource::kConstant ||
              rule->source == KeySource::kPartialRotary || rule->source == KeySource::kFullHead;
          return is_always && rule->key == rules_[number]->key;
        });
  }

  // Checks numbers that multiply parameters before any parameter is made.
  Status check_counts() const {
    const uint64_t blocks = count_at("block_count").value_or(0);
    if (blocks > kMaxModelLayers || blocks > file_.tensors.size()) {
      return corrupt("{}.block_count is {}; the file has {} tensors", family_.name, blocks,
                     file_.tensors.size());
    }
    uint64_t largest = 1;  // a single expert may be an MLP, or a stack without its axis
    for (const Tensor& tensor : file_.tensors) {
      if (tensor.shape.size() == 3) largest = std::max(largest, tensor.shape[0]);
    }
    const uint64_t experts = count_at("expert_count").value_or(0);
    if (experts <= largest) return {};
    return corrupt("{}.expert_count is {}; the largest stack of experts has {}", family_.name,
                   experts, largest);
  }

  void take(const KeyRule& rule) {
    if (rule.source == KeySource::kRopeScaling) return take_rope_scaling(file_, family_, rope_);
    if (rule.key.starts_with("general.")) return;
    const MetaValue* value = key(rule.key);
    return value == nullptr ? take_absent(rule) : take_value(rule, *value);
  }

  void take_value(const KeyRule& rule, const MetaValue& value) {
    const std::string fields(rule.fields);
    const JsonValue number = number_of_layers(value);
    const bool is_single = !number.is_null();
    switch (rule.source) {
      case KeySource::kField:
      case KeySource::kFieldOrZero:
      case KeySource::kFieldUnlessZero:
      case KeySource::kNextnSaid:
        if (rule.fields == "attn_rotary_emb" && number == head_size()) return;
        if (is_single) set_field(field_of(rule.fields), number);
        return;
      case KeySource::kFieldIfTrue: config_[fields] = number; return;
      case KeySource::kNoWindow:  // 0: all layers have full attention
        config_[fields] = std::vector<std::string>(layers(), "full_attention");
        return;
      case KeySource::kSlidingWindow:
        if (is_single && number != 0) {
          config_["sliding_window"] = number;
        } else if (is_single) {  // the class has a window, but no layer uses it
          config_["sliding_window_pattern"] = 1;
          config_["layer_types"] = std::vector<std::string>(layers(), "full_attention");
        }
        return;
      case KeySource::kAttentionInterval:
        if (is_single) config_[fields] = number;
        return;
      case KeySource::kBlockCount: config_["num_hidden_layers"] = layers(); return;
      case KeySource::kCausal: config_["is_causal"] = number; return;
      case KeySource::kRopeBase: rope_["rope_theta"] = number; return;
      case KeySource::kRopeBaseSliding: config_["rope_local_base_freq"] = number; return;
      case KeySource::kNextnLayers:
        config_[family_.drafts.nextn == NextnLayers::kKept ? kNextnCountField : kMtpCountField] =
            number;
        return;
      case KeySource::kRopeField:
      case KeySource::kRopeNeeded: rope_[fields] = number; return;
      default: return take_computed(rule, value);
    }
  }

  // Handles sources whose key is not a plain field.
  void take_computed(const KeyRule& rule, const MetaValue& value) {
    if (take_layer_list(rule, value, family_, layers(), config_)) return;
    if (take_quotient(rule, value)) return;
    const auto count = whole(number_of_layers(value));
    switch (rule.source) {
      case KeySource::kRopeSections:
      case KeySource::kDefaultSections: return take_rope_sections(value, rope_);
      case KeySource::kGatingFunction:
        if (count == 1 || count == 2 || count == 4) {
          config_[field_of(rule.fields)] = *count == 1   ? "softmax"
                                           : *count == 2 ? "sigmoid"
                                                         : "sqrtsoftplus";
        }
        return;
      case KeySource::kPartialRotary:
      case KeySource::kPartialHidden:
        if (count) {
          take_rotated(rule.fields == kLatentRotary ? kLatentRotary : kHeadSize, *count, config_,
                       rope_);
        }
        return;
      case KeySource::kRotaryPart:
        if (count && head_size() > 0) {
          config_[std::string(rule.fields)] =
              static_cast<double>(*count) / static_cast<double>(head_size());
        }
        return;
      case KeySource::kNumberUnlessZero:
      case KeySource::kNumber:
        if (count) take_number(rule, *count);
        return;
      case KeySource::kFullHead:
        if (count && rule.key == "attention.key_length") config_["global_head_dim"] = *count;
        return;
      case KeySource::kRopeTenth:
        if (const auto* tenth = std::get_if<double>(&value.value)) {
          rope_[std::string(rule.fields)] = json_of(MetaValue::f32(*tenth * 10));
        }
        return;
      case KeySource::kLongRopeAttention:
        if (file_.find_tensor("rope_factors_long.weight") != nullptr) {
          rope_[kAttentionFactor] = json_of(value);
        }
        return;
      case KeySource::kDeepstack: {
        JsonValue layers = JsonValue::array();
        for (uint64_t i = 0; i < std::min(count.value_or(0), kMaxModelLayers); ++i) {
          layers.push_back(i);
        }
        config_["vision_config"] = {{std::string(rule.fields), std::move(layers)}};
        return;
      }
      default: return take_of_kinds(rule, count);
    }
  }

  // Handles keys that are one field divided by another, or by the square root of the number of
  // layers. Returns whether `rule` is such a key.
  bool take_quotient(const KeyRule& rule, const MetaValue& value) {
    const bool is_ratio = rule.source == KeySource::kRatio;
    if (!is_ratio && rule.source != KeySource::kByRootOfLayers) return false;
    const auto* quotient = std::get_if<double>(&value.value);
    if (quotient == nullptr || *quotient == 0) return true;
    if (!is_ratio) {
      const double root = std::sqrt(static_cast<double>(layers()));
      config_[std::string(rule.fields)] =
          shortest_number(*quotient * root, [&](double field) {
            return static_cast<float>(field / root) == static_cast<float>(*quotient);
          });
      return true;
    }
    const size_t slash = rule.fields.find('/');
    const uint64_t above = field_count(rule.fields.substr(0, slash));
    const std::string under(rule.fields.substr(slash + 1));
    const double exact = static_cast<double>(above) / *quotient;
    if (exact >= 1 && exact < 1e15) config_[under] = static_cast<uint64_t>(std::round(exact));
    return true;
  }

  // Handles sources whose value depends on the kind of layer, and other rare ones.
  void take_of_kinds(const KeyRule& rule, std::optional<uint64_t> count) {
    switch (rule.source) {
      case KeySource::kRotaryOfKind:
        if (count && rule.fields == "full_attention") {
          take_rotated(kHeadSize, *count, config_, rope_);
        } else if (count && head_values() > 0) {
          config_["sliding_rotary_factor"] =
              static_cast<double>(*count) / static_cast<double>(head_values());
        }
        return;
      case KeySource::kLeadingDense:
        if (count && !rule.fields.empty()) {
          std::vector<uint64_t> sparse;
          for (uint64_t layer = *count; layer < layers(); ++layer) sparse.push_back(layer);
          config_[std::string(rule.fields)] = fmt::format("{}", fmt::join(sparse, ","));
        }
        return;
      case KeySource::kXdRope: return take_xd_rope(file_, family_, rope_);
      default: return;  // follows from other keys
    }
  }

  // Sets the field of a key that the file lacks to the value that llama.cpp then uses. If there is
  // none, the field becomes null where the class would otherwise use a default of its own. A field
  // is left out if neither the family's own rows nor a default say that the class has it.
  void take_absent(const KeyRule& rule) {
    if (rule.source == KeySource::kFieldIfTrue) config_[std::string(rule.fields)] = false;
    if (rule.source == KeySource::kFieldIfTrue) return;
    const bool is_sliding_base = rule.source == KeySource::kRopeBaseSliding;
    const std::string field = rule.source == KeySource::kRopeBase ? "rope_theta"
                              : is_sliding_base                   ? "rope_local_base_freq"
                                                                  : field_of(rule.fields);
    const std::string_view kind = is_sliding_base ? "sliding_attention" : "rope_theta";
    bool has_default = (is_sliding_base || rule.source == KeySource::kRopeBase) &&
                       family_.rope.by_default.find(kind) != std::string_view::npos;
    bool is_null = false;
    for (const ClassDefault& row : family_.defaults) {
      if (row.field != field || row.read_by == ReadBy::kShapes) continue;
      has_default = true;
      is_null = is_null || (rule.source == KeySource::kField && row.unless == field);
    }
    const bool is_common =
        std::ranges::any_of(kCommonKeys, [&](const KeyRule& each) { return &each == &rule; });
    if (!has_default && (is_common || is_sliding_base)) return;
    const auto absent = absent_gguf_value(file_, fmt::format("{}.{}", family_.name, rule.key));
    if (absent) return take_value(rule, *absent);
    if (is_null) config_[field] = nullptr;
  }

  // Sets a field of config.json: `name` is "FIELD", or "OBJECT.FIELD" for one inside an object.
  void set_field(std::string_view name, const JsonValue& value) {
    const size_t dot = name.find('.');
    JsonValue& field = config_[std::string(name.substr(0, dot))];
    (dot == name.npos ? field : field[std::string(name.substr(dot + 1))]) = value;
  }

  // Handles "hidden_size", "a*b" and "a+b"; all else follows from other fields.
  void take_number(const KeyRule& rule, uint64_t number) {
    if (rule.fields == "feed_forward") {
      config_["intermediate_size"] = number;
      config_["block_ff_dim"] = number;
      return;
    }
    if (rule.fields == "attention_width") {
      config_[kHeadSize] = number;
      config_["attention_head_dim"] = number;
      return;
    }
    if (const size_t over = rule.fields.rfind('/'); over != rule.fields.npos) {
      take_divisor(rule.fields.substr(0, over), std::string(rule.fields.substr(over + 1)), number);
    }
    if (rule.fields.find_first_of("0123456789-/") != rule.fields.npos) return;
    const size_t sign = rule.fields.find_first_of("*+");
    if (sign == rule.fields.npos) return set_field(rule.fields, number);
    const std::string_view first = rule.fields.substr(0, sign);
    const std::string_view second = rule.fields.substr(sign + 1);
    const bool is_sum = rule.fields[sign] == '+';
    // Computes the summand or factor that no other key has.
    for (const auto& [wanted, other] : {std::pair(first, second), std::pair(second, first)}) {
      const uint64_t part = field_count(other);
      if (config_.contains(std::string(wanted)) || part == 0 || (is_sum && part > number)) continue;
      config_[std::string(wanted)] = is_sum ? number - part : number / part;
    }
  }

  // Sets the field by which `above` was divided, if no other key has it.
  void take_divisor(std::string_view above, const std::string& field, uint64_t quotient) {
    const auto divided = number_of_fields(family_, config_, above);
    if (divided && quotient > 0 && !config_.contains(field)) config_[field] = *divided / quotient;
  }

  uint64_t field_count(std::string_view field) const {
    return whole(known(config_, field)).value_or(0);
  }

  // The size of a head that follows from other fields; 0 if they are missing.
  uint64_t head_size() const {
    const uint64_t heads = field_count("num_attention_heads");
    return heads == 0 ? 0 : field_count("hidden_size") / heads;
  }

  uint64_t head_values() const {
    const uint64_t declared = field_count(kHeadSize);
    return declared == 0 ? head_size() : declared;
  }

  void take_names(std::string_view dtype) {
    config_["architectures"] = {std::string(text_class_of(family_.architectures))};
    config_["model_type"] = std::string(family_.text_type());
    config_["dtype"] = std::string(dtype);
    config_["torch_dtype"] = std::string(dtype);
  }

  Status add_graph_constants() {
    for (const GraphConstant& constant : family_.graph.constants) {
      const std::string field(constant.field);
      if (constant.overridable && config_.contains(field)) continue;
      CKPT_ASSIGN(config_[field], parse_json("config.json", constant.value));
    }
    if (const Activation& activation = family_.activation; activation.written_to_config) {
      config_[std::string(split_words(activation.fields).back())] = activation.name;
    }
    if (family_.graph.add_fields != nullptr) family_.graph.add_fields({layers(), config_, rope_});
    return {};
  }

  const Checkpoint& file_;
  const Family& family_;
  std::vector<const KeyRule*> rules_;  // in the order in which to-gguf writes them
  JsonValue config_ = JsonValue::object();
  JsonValue rope_ = JsonValue::object();
};

}  // namespace

Result<JsonValue> returned_config(const Checkpoint& file, const Family& family,
                                  std::string_view dtype) {
  return ConfigReader(file, family).run(dtype);
}

}  // namespace ckpt
