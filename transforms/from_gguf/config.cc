#include "transforms/from_gguf/config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/arithmetic.h"
#include "core/base/words.h"
#include "transforms/from_gguf/graph_constants.h"
#include "transforms/from_gguf/rope.h"

namespace ckpt {
namespace {

class ConfigReader {
 public:
  ConfigReader(const Checkpoint& file, const Family& family) : file_(file), family_(family) {
    for (const Tensor& tensor : file.tensors) names_.insert(tensor.name);
  }

  Result<JsonValue> run(std::string_view dtype);

 private:
  const MetaValue* key(std::string_view name) const {
    const bool is_general = name.starts_with("general.");
    return file_.metadata.find(is_general ? std::string(name)
                                          : fmt::format("{}.{}", family_.name, name));
  }
  bool has_tensor(std::string_view name) const { return names_.contains(name); }
  // The one of `fields` that the family's class has.
  std::string field_of(std::string_view fields) const;
  uint64_t layers() const;
  // A key whose value the family's table fixes: nothing of config.json is told by it.
  bool is_constant(std::string_view key) const {
    return std::ranges::any_of(family_.keys, [key](const KeyRule& rule) {
      return rule.key == key && rule.source == KeySource::kNumber &&
             rule.fields.find_first_not_of("0123456789") == rule.fields.npos;
    });
  }
  Status check_counts() const;
  Status take(const KeyRule& rule);
  Status take_computed(const KeyRule& rule, const MetaValue& value);
  void take_layer_types(const MetaValue& flags, const char* yes, const char* no);
  void take_heads(const KeyRule& rule, const MetaValue& counts);
  void take_product(const KeyRule& rule, uint64_t product);
  void take_part_of_head(double part);
  void take_rope_scaling();
  void take_sections(const MetaValue& value);
  void take_rotated(uint64_t count);
  void take_names(std::string_view dtype);
  void take_tensors();
  void take_token_ids();
  void finish_rope();

  const Checkpoint& file_;
  const Family& family_;
  std::set<std::string_view> names_;
  JsonValue config_ = JsonValue::object();
  JsonValue rope_ = JsonValue::object();
};

std::string ConfigReader::field_of(std::string_view fields) const {
  const std::string_view all = fields;
  for (std::string_view list = all; !list.empty();) {
    const std::string_view word = take_word(list);
    for (const FieldDefault& field : family_.defaults) {
      if (field.field == word) return std::string(word);
    }
  }
  for (std::string_view list = all; !list.empty();) {
    const std::string_view word = take_word(list);
    for (const FieldValue& field : family_.parameters->defaults) {
      if (field.field == word) return std::string(word);
    }
  }
  return std::string(take_word(fields));
}

uint64_t ConfigReader::layers() const {
  const std::string name(family_.name);
  const uint64_t blocks = file_.metadata.find_unsigned(name + ".block_count").value_or(0);
  const uint64_t nextn = file_.metadata.find_unsigned(name + ".nextn_predict_layers").value_or(0);
  return blocks - std::min(blocks, nextn);
}

// Numbers that parameters are multiplied by, before any of those is made.
Status ConfigReader::check_counts() const {
  const std::string name(family_.name);
  const uint64_t blocks = file_.metadata.find_unsigned(name + ".block_count").value_or(0);
  if (blocks > kMaxModelLayers || blocks > file_.tensors.size()) {
    return fail(ErrorCode::kCorrupt, "{}.block_count is {}; the file has {} tensors", name, blocks,
                file_.tensors.size());
  }
  uint64_t largest = 0;
  for (const Tensor& tensor : file_.tensors) {
    if (tensor.shape.size() == 3) largest = std::max(largest, tensor.shape[0]);
  }
  const uint64_t experts = file_.metadata.find_unsigned(name + ".expert_count").value_or(0);
  if (experts <= largest) return {};
  return fail(ErrorCode::kCorrupt, "{}.expert_count is {}; the largest stack of experts has {}",
              name, experts, largest);
}

void ConfigReader::take_layer_types(const MetaValue& flags, const char* yes, const char* no) {
  const auto* array = std::get_if<MetaArray>(&flags.value);
  if (array == nullptr || array->element == MetaType::kText || array->element == MetaType::kArray) {
    return;
  }
  JsonValue types = JsonValue::array();
  const uint64_t count = std::min(array->count(), layers());
  for (uint64_t i = 0; i < count; ++i) types.push_back(number_at(*array, i) != 0 ? yes : no);
  config_["layer_types"] = std::move(types);
}

// Layers without heads of keys have a convolution in the place of attention.
void ConfigReader::take_heads(const KeyRule& rule, const MetaValue& counts) {
  take_layer_types(counts, "full_attention", "conv");
  const auto* array = std::get_if<MetaArray>(&counts.value);
  for (uint64_t i = 0; array != nullptr && i < array->count(); ++i) {
    const double heads = number_at(*array, i);
    if (heads > 0) config_[std::string(rule.fields)] = static_cast<uint64_t>(heads);
  }
}

// "a b" and "a*b": the one that no other key says.
void ConfigReader::take_product(const KeyRule& rule, uint64_t product) {
  std::string fields(rule.fields);
  std::replace(fields.begin(), fields.end(), '*', ' ');
  std::string_view list = fields;
  const std::string first(take_word(list)), second(take_word(list));
  for (const auto& [wanted, other] : {std::pair(first, second), std::pair(second, first)}) {
    const JsonValue* known_field = known(config_, other);
    const uint64_t divisor = known_field == nullptr ? 0 : whole(*known_field).value_or(0);
    if (config_.contains(wanted) || divisor == 0) continue;
    config_[wanted] = product / divisor;
  }
}

void ConfigReader::take_part_of_head(double part) {
  rope_["partial_rotary_factor"] = part;
  config_["partial_rotary_factor"] = part;
}

void ConfigReader::take_rope_scaling() {
  const MetaValue* type = key("rope.scaling.type");
  const auto* text = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
  if (text == nullptr) return;
  rope_["rope_type"] = *text;
  constexpr std::pair<std::string_view, const char*> kRows[] = {
      {"rope.scaling.factor", "factor"},
      {"rope.scaling.original_context_length", "original_max_position_embeddings"},
      {"rope.scaling.yarn_ext_factor", "extrapolation_factor"},
      {"rope.scaling.yarn_attn_factor", "attention_factor"},
      {"rope.scaling.yarn_beta_fast", "beta_fast"},
      {"rope.scaling.yarn_beta_slow", "beta_slow"},
  };
  for (const auto& [name, field] : kRows) {
    if (const MetaValue* value = key(name)) rope_[field] = json_of(*value);
  }
}

void ConfigReader::take_sections(const MetaValue& value) {
  const auto* array = std::get_if<MetaArray>(&value.value);
  const bool is_list = array != nullptr && array->count() == 4 &&
                       array->element != MetaType::kText && array->element != MetaType::kArray;
  if (!is_list) return;
  JsonValue sections = JsonValue::array();
  for (uint64_t i = 0; i < 3; ++i) {
    sections.push_back(static_cast<int64_t>(number_at(*array, i)));
  }
  rope_["mrope_section"] = std::move(sections);
  rope_["mrope_interleaved"] = true;
}

// `count` of the values of a head.
void ConfigReader::take_rotated(uint64_t count) {
  const auto field = [&](const char* name) {
    const JsonValue* found = known(config_, name);
    return found == nullptr ? 0.0 : number(*found).value_or(0);
  };
  double head = field("head_dim");
  if (head == 0 && field("num_attention_heads") > 0) {
    head = field("hidden_size") / field("num_attention_heads");
  }
  if (head > 0) take_part_of_head(static_cast<double>(count) / head);
}

// Sources whose key is no plain field.
Status ConfigReader::take_computed(const KeyRule& rule, const MetaValue& value) {
  const auto count = file_.metadata.find_unsigned(fmt::format("{}.{}", family_.name, rule.key));
  switch (rule.source) {
    case KeySource::kRopeSections:
    case KeySource::kDefaultSections:
      take_sections(value);
      return {};
    case KeySource::kGatingFunction:
      if (count == 1 || count == 2 || count == 4) {
        config_[field_of(rule.fields)] = *count == 1   ? "softmax"
                                         : *count == 2 ? "sigmoid"
                                                       : "sqrtsoftplus";
      }
      return {};
    case KeySource::kRecurrentLayers:
      take_layer_types(value, "linear_attention", "full_attention");
      return {};
    case KeySource::kSlidingPattern:
    case KeySource::kSlidingLayers:
      take_layer_types(value, "sliding_attention", "full_attention");
      return {};
    case KeySource::kAttentionHeads:
      take_heads(rule, value);
      return {};
    case KeySource::kPartialRotary:
    case KeySource::kPartialHidden:
      if (count) take_rotated(*count);
      return {};
    case KeySource::kNumber:
      if (rule.fields == "feed_forward") {
        config_["intermediate_size"] = json_of(value);
        config_["block_ff_dim"] = json_of(value);
        return {};
      }
      [[fallthrough]];
    case KeySource::kProduct:
      if (count && rule.fields.find_first_of(" *") != rule.fields.npos) {
        take_product(rule, *count);
      } else if (count && rule.fields.find_first_of("0123456789+-/") == rule.fields.npos) {
        config_[std::string(rule.fields)] = *count;
      }
      return {};
    default:
      return {};  // follows from other keys
  }
}

Status ConfigReader::take(const KeyRule& rule) {
  if (rule.source == KeySource::kRopeScaling) {
    take_rope_scaling();
    return {};
  }
  const MetaValue* value = key(rule.key);
  if (value == nullptr || rule.key.starts_with("general.")) return {};
  const bool is_single = value->type != MetaType::kArray && value->type != MetaType::kText;
  switch (rule.source) {
    case KeySource::kField:
    case KeySource::kFieldOrZero:
    case KeySource::kFieldUnlessZero:
    case KeySource::kNextnSaid:
      if (is_single) config_[field_of(rule.fields)] = json_of(*value);
      return {};
    case KeySource::kSlidingWindow:
      if (is_single) config_["sliding_window"] = json_of(*value);
      return {};
    case KeySource::kAttentionInterval:
      if (is_single) config_[std::string(rule.fields)] = json_of(*value);
      return {};
    case KeySource::kBlockCount:
      config_["num_hidden_layers"] = layers();
      return {};
    case KeySource::kCausal:
      config_["is_causal"] = json_of(*value);
      return {};
    case KeySource::kRopeBase:
      rope_["rope_theta"] = json_of(*value);
      return {};
    case KeySource::kRopeBaseSliding:
      config_["rope_local_base_freq"] = json_of(*value);
      return {};
    case KeySource::kNextnLayers:
      config_["mtp_num_hidden_layers"] = json_of(*value);
      return {};
    case KeySource::kRopeField:
    case KeySource::kRopeNeeded:
      rope_[std::string(rule.fields)] = json_of(*value);
      return {};
    default:
      return take_computed(rule, *value);
  }
}

void ConfigReader::take_names(std::string_view dtype) {
  std::string_view list = family_.architectures;
  config_["architectures"] = {std::string(take_word(list))};
  list = family_.parameters->model_types;
  if (list.empty()) list = family_.model_types;
  config_["model_type"] = std::string(take_word(list));
  config_["dtype"] = std::string(dtype);
  config_["torch_dtype"] = std::string(dtype);
}

void ConfigReader::take_tensors() {
  if (const Tensor* tokens = file_.find_tensor("token_embd.weight")) {
    config_["vocab_size"] = tokens->rows();
  }
  config_["tie_word_embeddings"] = !has_tensor("output.weight");
  const std::pair<const char*, const char*> kBiases[] = {{"attention_bias", "blk.{}.attn_q.bias"},
                                                         {"mlp_bias", "blk.{}.ffn_up.bias"}};
  for (const auto& [field, name] : kBiases) {
    bool has_bias = false;
    for (uint64_t layer = 0; layer < layers() && !has_bias; ++layer) {
      has_bias = has_tensor(fmt::format(fmt::runtime(name), layer));
    }
    config_[field] = has_bias;
  }
}

void ConfigReader::take_token_ids() {
  constexpr std::pair<const char*, const char*> kIds[] = {
      {"bos", "bos_token_id"}, {"eos", "eos_token_id"}, {"padding", "pad_token_id"}};
  for (const auto& [kind, field] : kIds) {
    const auto id = file_.metadata.find_unsigned(fmt::format("tokenizer.ggml.{}_token_id", kind));
    config_[field] = id ? JsonValue(*id) : JsonValue();
  }
}

// Under the names of transformers 4 and 5. Two bases, for two kinds of attention, have old names
// that both read.
void ConfigReader::finish_rope() {
  if (rope_.contains("rope_theta")) config_["rope_theta"] = rope_["rope_theta"];
  const bool is_scaled = rope_.contains("rope_type");
  if (const JsonValue* context = known(config_, "original_max_position_embeddings")) {
    if (is_scaled) rope_["original_max_position_embeddings"] = *context;
  }
  if (is_scaled) config_["rope_scaling"] = rope_;
  if (config_.contains("rope_local_base_freq")) return;
  if (!is_scaled) rope_["rope_type"] = "default";
  config_["rope_parameters"] = rope_;
}

Result<JsonValue> ConfigReader::run(std::string_view dtype) {
  CKPT_TRY(check_counts());
  if (family_.has_common_keys) {
    for (const KeyRule& rule : kCommonKeys) {
      if (!is_constant(rule.key)) CKPT_TRY(take(rule));
    }
  }
  for (const KeyRule& rule : family_.keys) CKPT_TRY(take(rule));
  for (const KeyRule& rule : family_.early_keys) CKPT_TRY(take(rule));
  take_names(dtype);
  take_tensors();
  take_token_ids();
  CKPT_TRY(add_graph_constants(family_, layers(), config_));
  if (const JsonValue* rotated = known(config_, "rotary_dim")) {
    take_rotated(whole(*rotated).value_or(0));
  }
  CKPT_TRY(add_rope_rule(file_, rope_));
  finish_rope();
  return std::move(config_);
}

}  // namespace

JsonValue json_of(const MetaValue& value) {
  if (value.type == MetaType::kBool) return std::get<uint64_t>(value.value) != 0;
  if (const auto* count = std::get_if<uint64_t>(&value.value)) return *count;
  if (const auto* count = std::get_if<int64_t>(&value.value)) return *count;
  const auto* real = std::get_if<double>(&value.value);
  if (real == nullptr || !std::isfinite(*real)) return {};
  if (value.type != MetaType::kF32) return *real;
  return std::strtod(fmt::format("{}", static_cast<float>(*real)).c_str(), nullptr);
}

Result<JsonValue> returned_config(const Checkpoint& file, const Family& family,
                                  std::string_view dtype) {
  return ConfigReader(file, family).run(dtype);
}

}  // namespace ckpt
