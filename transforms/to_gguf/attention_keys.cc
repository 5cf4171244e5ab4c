// Values of keys that follow from several fields: kinds of attention by layer, heads of two sizes,
// the share of a head that is turned (llama.cpp conversion/{gemma,phi}.py set_gguf_parameters).
//
// A field of the layers with full attention is at the root ("global_head_dim"), or in
// per_layer_config under the number of such a layer.
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {
namespace {

Result<std::vector<bool>> sliding_layers(const Model& model) {
  return layers_of_type(model, "sliding_attention");
}

// `root` of config.json, or `field` of the first layer with full attention that has its own.
Result<std::optional<uint64_t>> of_full_attention(const Model& model, const char* root,
                                                  const char* field) {
  if (model.field(root) != nullptr) {
    CKPT_ASSIGN(const uint64_t declared, model.count(root));
    return std::optional(declared);
  }
  const JsonValue* layers = model.field("per_layer_config");
  CKPT_ASSIGN(const std::vector<bool> sliding, sliding_layers(model));
  for (uint64_t i = 0; layers != nullptr && i < sliding.size(); ++i) {
    const JsonValue* value = sliding[i] ? nullptr : known(known(*layers, std::to_string(i)), field);
    if (value == nullptr) continue;
    const auto count = whole(*value);
    if (count && *count <= INT32_MAX) return count;
    return corrupt("config.json: per_layer_config has {} {} for layer {}; expected a whole number",
                   field, value->dump(), i);
  }
  return std::optional<uint64_t>();
}

Result<uint64_t> full_head(const Model& model) {
  CKPT_ASSIGN(const auto found, of_full_attention(model, "global_head_dim", "head_dim"));
  if (found) return *found;
  return corrupt("config.json: no global_head_dim, and no head_dim in per_layer_config");
}

Result<std::vector<int32_t>> by_layer(const std::vector<bool>& choose, uint64_t yes, uint64_t no) {
  if (yes > INT32_MAX || no > INT32_MAX) {
    return corrupt("config.json: a size of {} for a layer; at most {}", std::max(yes, no),
                   INT32_MAX);
  }
  std::vector<int32_t> out;
  for (const bool chosen : choose) out.push_back(static_cast<int32_t>(chosen ? yes : no));
  return out;
}

using KeyValue = Result<std::optional<MetaValue>>;

std::optional<MetaValue> as_count(uint64_t count) { return MetaValue::u32(count); }
std::optional<MetaValue> as_flags(const std::vector<bool>& flags) {
  return MetaValue::array(make_bool_array(flags));
}
std::optional<MetaValue> as_counts(const std::vector<int32_t>& counts) {
  return MetaValue::array(make_i32_array(counts));
}

KeyValue full_or_sliding_heads(const Model& model) {
  CKPT_ASSIGN(const auto full,
              of_full_attention(model, "num_global_key_value_heads", "num_key_value_heads"));
  if (!full || model.field("num_key_value_heads") == nullptr) return std::optional<MetaValue>();
  CKPT_ASSIGN(const uint64_t sliding, model.count("num_key_value_heads"));
  CKPT_ASSIGN(const std::vector<bool> is_sliding, sliding_layers(model));
  return by_layer(is_sliding, sliding, *full).map(as_counts);
}

KeyValue wide_feed_forward(const Model& model) {
  const JsonValue* is_wide = member(model.config, "use_double_wide_mlp");
  if (is_wide != nullptr && is_wide->is_null()) {
    return corrupt("config.json: use_double_wide_mlp is null; expected true or false");
  }
  if (!is_truthy(is_wide)) return std::optional<MetaValue>();
  CKPT_ASSIGN(const uint64_t size, model.count("intermediate_size"));
  CKPT_ASSIGN(const uint64_t shared, model.count("num_kv_shared_layers"));
  std::vector<bool> is_shared;
  for (uint64_t i = 0; i < model.blocks(); ++i) is_shared.push_back(i + shared >= model.blocks());
  return by_layer(is_shared, size * 2, size).map(as_counts);
}

KeyValue sliding_rotary(const Model& model) {
  CKPT_ASSIGN(const uint64_t head, model.count("head_dim"));
  const JsonValue* factor = known(model.rope, "partial_rotary_factor");
  CKPT_ASSIGN(const double part, share_of(factor, "partial_rotary_factor", 1.0));
  return as_count(static_cast<uint64_t>(static_cast<double>(head) * part));
}

KeyValue rotary_part(const KeyRule& rule, const Model& model) {
  CKPT_ASSIGN(const double part, share_of(model.field(rule.fields), rule.fields));
  CKPT_ASSIGN(const uint64_t hidden, model.count("hidden_size"));
  CKPT_ASSIGN(const uint64_t heads, model.count("num_attention_heads"));
  if (heads == 0) return corrupt("config.json: num_attention_heads is 0");
  return as_count(static_cast<uint64_t>(part * static_cast<double>(hidden / heads)));
}

KeyValue sliding_layers_of(const KeyRule& rule, const Model& model) {
  if (model.field(rule.fields) == nullptr) return std::optional<MetaValue>();
  const JsonValue* pattern = model.field("sliding_window_pattern");
  const bool has_letters = pattern != nullptr && pattern->is_string() && *pattern != "";
  const bool is_read = pattern != nullptr && model.field("layer_types") == nullptr;
  if (is_read && !has_letters && whole(*pattern).value_or(0) == 0) {
    return corrupt(
        "config.json: sliding_window_pattern is {}; expected a number above 0 or letters",
        pattern->dump());
  }
  return sliding_layers(model).map(as_flags);
}

KeyValue shared_width(const KeyRule& rule, const Model& model) {
  if (!is_truthy(model.field(rule.fields))) return std::optional<MetaValue>();
  CKPT_ASSIGN(const uint64_t width, model.count("intermediate_size"));
  CKPT_ASSIGN(const uint64_t heads, model.count("num_key_value_heads"));
  if (heads == 0) return corrupt("config.json: num_key_value_heads is 0");
  return as_count(width / heads);
}

KeyValue deepstack_layers(const KeyRule& rule, const Model& model) {
  const JsonValue* layers = known(known(model.config, "vision_config"), rule.fields);
  if (layers == nullptr) return as_count(3);
  if (layers->is_array()) return as_count(layers->size());
  return corrupt("config.json: {} is {}; expected a list", rule.fields, layers->dump());
}

KeyValue sliding_window(const Model& model) {
  const bool is_everywhere = whole(model.field("sliding_window_pattern")) == 1u;
  if (is_everywhere || model.field("sliding_window") == nullptr) return std::optional<MetaValue>();
  return model.count("sliding_window").map(as_count);
}

}  // namespace

Result<std::vector<float>> proportional_factors(const Model& model) {
  if (!model.family->has_proportional_rope) return std::vector<float>();
  const JsonValue* full = known(model.rope, "full_attention");
  const std::string* type = text_of(full, "rope_type");
  const double part = number(known(full, "partial_rotary_factor")).value_or(-1);
  if (type == nullptr || *type != "proportional" || !(part >= 0) || part > 1) {
    return unsupported(
        "config.json: rope_parameters of full_attention are {}; expected rope_type proportional "
        "and a partial_rotary_factor of 0 to 1",
        full == nullptr ? "missing" : full->dump());
  }
  CKPT_ASSIGN(const uint64_t head, full_head(model));
  if (head > 65536) return corrupt("config.json: heads of {} values", head);
  const auto turned = static_cast<uint64_t>(static_cast<double>(head) * part / 2);
  std::vector<float> out(turned, 1.0f);
  out.resize(head / 2, 1e30f);
  return out;
}

Result<std::optional<MetaValue>> attention_key(const KeyRule& rule, const Model& model) {
  switch (rule.source) {
    case KeySource::kSlidingPattern: return sliding_layers(model).map(as_flags);
    case KeySource::kFullHead: return full_head(model).map(as_count);
    case KeySource::kFullOrSlidingHeads: return full_or_sliding_heads(model);
    case KeySource::kWideFeedForward: return wide_feed_forward(model);
    case KeySource::kSlidingRotary: return sliding_rotary(model);
    case KeySource::kSlidingLayers: return sliding_layers_of(rule, model);
    case KeySource::kSharedWidth: return shared_width(rule, model);
    case KeySource::kRotaryPart: return rotary_part(rule, model);
    case KeySource::kDeepstack: return deepstack_layers(rule, model);
    case KeySource::kSlidingWindow: return sliding_window(model);
    case KeySource::kPartialHidden: return partial_rotary_values(model).map(as_count);
    case KeySource::kLongRopeAttention: {
      CKPT_ASSIGN(const std::optional<double> factor, long_rope_attention(model));
      return factor ? std::optional(MetaValue::f32(*factor)) : std::nullopt;
    }
    default: break;
  }
  CKPT_CHECK(false);
}

}  // namespace ckpt
