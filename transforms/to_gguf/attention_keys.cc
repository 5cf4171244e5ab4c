// Values of keys that follow from several fields: kinds of attention by layer, heads of two sizes,
// the rotated share of a head (llama.cpp conversion/{gemma,phi}.py set_gguf_parameters).
#include <algorithm>
#include <cmath>

#include "core/base/words.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {
namespace {

Result<std::vector<bool>> sliding_layers(const Model& model) {
  return layers_of_type(model, "sliding_attention");
}

// Whether each layer slides, including those after the last. Lists may be longer than the model.
Result<std::vector<bool>> sliding_blocks(const Model& model) {
  if (model.mtp_layers == 0) return sliding_layers(model);
  CKPT_ASSIGN(const auto layers, resolve_layers(*model.family, model.config, model.blocks()));
  std::vector<bool> out;
  for (const ResolvedLayer& layer : layers) out.push_back(layer.type == "sliding_attention");
  return out;
}

// The size of a head in the layers with full attention.
Result<uint64_t> full_head(const Model& model) {
  CKPT_ASSIGN(const auto layers, resolve_layers(*model.family, model.config, model.layers));
  uint64_t out = 0;
  for (const ResolvedLayer& layer : layers) {
    if (layer.head == 0) continue;
    if (out != 0 && layer.head != out) {
      return unsupported_hint("another form, such as --to nvfp4",
                              "config.json: layers with full attention have heads of {} and of {} "
                              "values; a GGUF holds one number for all",
                              out, layer.head);
    }
    out = layer.head;
  }
  if (out > 0) return out;
  return number_of_fields(*model.family, model.config, model.family->sizes.full_head);
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

// Returns the number of key heads of each layer, if config.json states the one of full attention,
// even when it is the same as that of the other layers.
KeyValue full_or_sliding_heads(const Model& model) {
  if (model.field("num_key_value_heads") == nullptr) return std::optional<MetaValue>();
  CKPT_ASSIGN(const uint64_t usual, model.count("num_key_value_heads"));
  CKPT_ASSIGN(const auto layers, resolve_layers(*model.family, model.config, model.layers));
  const JsonValue* own = model.field("per_layer_config");
  bool is_said = model.field("num_global_key_value_heads") != nullptr;
  std::vector<int32_t> out;
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool is_full = layers[i].head > 0;
    const JsonValue* of_layer = own == nullptr ? nullptr : known(*own, std::to_string(i));
    is_said = is_said || (is_full && known(of_layer, "num_key_value_heads") != nullptr);
    out.push_back(static_cast<int32_t>(is_full ? layers[i].key_heads : usual));
  }
  return is_said ? as_counts(out) : std::nullopt;
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

// For fields "FULL SLIDING": one of two counts for each block, by its kind of attention.
KeyValue counts_of_kinds(const KeyRule& rule, const Model& model) {
  CKPT_ASSIGN(const auto counts, numbers_of_fields(*model.family, model.config, rule.fields));
  CKPT_ASSIGN(const std::vector<bool> is_sliding, sliding_blocks(model));
  return by_layer(is_sliding, counts[1], counts[0]).map(as_counts);
}

// For fields "LIST ONE": a count per layer, or one for all.
KeyValue counts_of_layers(const KeyRule& rule, const Model& model) {
  std::string_view fields = rule.fields;
  const std::string_view list = take_word(fields);
  std::vector<int32_t> out;
  for (const JsonValue& entry : list_in(model.config, list)) {
    const auto count = whole(entry);
    if (!count || *count > INT32_MAX) {
      return corrupt("config.json: {} has {}; expected whole numbers", list, entry.dump());
    }
    out.push_back(static_cast<int32_t>(*count));
  }
  if (out.empty()) {
    CKPT_ASSIGN(const uint64_t count, model.count(fields));
    CKPT_SET(out, by_layer(std::vector<bool>(model.layers), 0, count));
  }
  if (out.size() == model.layers) return as_counts(out);
  return corrupt("config.json: {} has {} entries; expected {}", list, out.size(), model.layers);
}

// A real number for each block: from a list, where null is 0 and zeros fill the end, or from one
// number for all.
KeyValue limits_of_blocks(const KeyRule& rule, const Model& model) {
  const JsonValue* found = model.field(rule.fields);
  if (found == nullptr) return std::optional<MetaValue>();
  std::vector<float> out(model.blocks(), 0.0f);
  for (size_t i = 0; i < out.size(); ++i) {
    const bool is_listed = found->is_array();
    if (is_listed && (i >= found->size() || (*found)[i].is_null())) continue;
    const auto value = number(is_listed ? (*found)[i] : *found);
    if (!value) {
      return corrupt("config.json: {} is {}; expected numbers", rule.fields, found->dump());
    }
    out[i] = static_cast<float>(*value);
  }
  const bool is_off = !found->is_array() && !(out[0] > 0);
  if (is_off) return std::optional<MetaValue>();
  return std::optional(MetaValue::array(make_f32_array(out)));
}

// Projectors are ordered by the layers of the text part before which their outputs are added; the
// first supplies the embeddings themselves. A negative layer counts from the last.
KeyValue deepstack_mapping(const KeyRule& rule, const Model& model) {
  const std::vector<std::string_view> fields = split_words(rule.fields);
  const auto blocks = static_cast<int64_t>(model.blocks());
  std::vector<std::pair<int64_t, int64_t>> pairs;  // layers of the tower and of the text part
  std::vector<int64_t> layers;
  const auto is_layer = [&](const JsonValue& value) {
    return value.is_number_integer() && value >= -blocks && value < blocks;
  };
  for (const JsonValue& pair : list_in(model.config, fields[0])) {
    const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_integer();
    if (!is_pair || !is_layer(pair[1])) {
      return corrupt(
          "config.json: {} has {}; expected a layer of the tower and one of the text part",
          fields[0], pair.dump());
    }
    pairs.emplace_back(pair[0].get<int64_t>(), pair[1].get<int64_t>());
  }
  std::ranges::sort(pairs);
  for (const auto& [tower, text] : pairs) layers.push_back(text < 0 ? text + blocks : text);
  for (const JsonValue& layer : list_in(model.config, fields[1])) {
    if (!is_layer(layer)) {
      return corrupt("config.json: {} has {}; expected a layer", fields[1], layer.dump());
    }
    layers.push_back(layer.get<int64_t>());
  }
  if (layers.empty()) return std::optional<MetaValue>();
  std::ranges::stable_sort(layers);
  std::vector<int32_t> out(model.blocks(), -1);
  for (size_t i = 1; i < layers.size(); ++i) {
    out[static_cast<size_t>(layers[i] < 0 ? layers[i] + blocks : layers[i])] =
        static_cast<int32_t>(i);
  }
  return as_counts(out);
}

// Returns the x below which the share `part` of the normal distribution lies. Rounds each step to
// F32, as PyTorch does.
float quantile(float part) {
  const float wanted = 2 * part - 1;
  if (!(std::abs(wanted) < 1)) return std::copysign(HUGE_VALF, wanted);
  double x = 0;
  for (int step = 0; step < 64; ++step) {  // Newton's method for erf(x) = wanted
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-x * x);
    x -= std::clamp((std::erf(x) - static_cast<double>(wanted)) / slope, -1.0, 1.0);
  }
  return static_cast<float>(x) * static_cast<float>(std::sqrt(2.0));
}

KeyValue quantiles(const KeyRule& rule, const Model& model) {
  std::vector<float> out;
  for (const JsonValue& part : list_in(model.config, rule.fields)) {
    const auto value = number(part);
    if (!value) {
      return corrupt("config.json: {} has {}; expected numbers", rule.fields, part.dump());
    }
    out.push_back(quantile(static_cast<float>(*value)));
  }
  if (out.size() == model.layers) return std::optional(MetaValue::array(make_f32_array(out)));
  return corrupt("config.json: {} has {} entries; expected {}", rule.fields, out.size(),
                 model.layers);
}

KeyValue leading_dense(const Model& model) {
  CKPT_ASSIGN(const auto layers, resolve_layers(*model.family, model.config, model.layers));
  const auto first = std::ranges::find_if(layers, &ResolvedLayer::is_sparse);
  return as_count(static_cast<uint64_t>(first - layers.begin()));
}

// Reads one kind of attention if the rotary parameters have several.
KeyValue rotary_of_kind(const KeyRule& rule, const Model& model) {
  const JsonValue* own = known(model.rope, rule.fields);
  if (own == nullptr && rule.fields != "full_attention") return std::optional<MetaValue>();
  const JsonValue* share = known(own == nullptr ? model.rope : *own, "partial_rotary_factor");
  CKPT_ASSIGN(const uint64_t head, model.head_values());
  CKPT_ASSIGN(const double part, share_of(share, "partial_rotary_factor", 1.0));
  return as_count(static_cast<uint64_t>(static_cast<double>(head) * part));
}

KeyValue sliding_window(const Model& model) {
  const bool is_everywhere = whole(model.field("sliding_window_pattern")) == 1u;
  if (is_everywhere || model.field("sliding_window") == nullptr) return std::optional<MetaValue>();
  return model.count("sliding_window").map(as_count);
}

}  // namespace

Result<std::vector<float>> proportional_factors(const Model& model) {
  if (!model.family->rope.is_proportional) return std::vector<float>();
  const JsonValue* full = known(model.rope, "full_attention");
  const double part = number(known(full, "partial_rotary_factor")).value_or(-1);
  if (text_in(full, "rope_type") != "proportional" || !(part >= 0) || part > 1) {
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
    case KeySource::kSlidingPattern: {
      CKPT_ASSIGN(const std::vector<bool> flags, sliding_blocks(model));
      if (rule.type == MetaType::kI32) return by_layer(flags, 1, 0).map(as_counts);
      return as_flags(flags);
    }
    case KeySource::kCountsOfKinds: return counts_of_kinds(rule, model);
    case KeySource::kCountsOfLayers: return counts_of_layers(rule, model);
    case KeySource::kLimits: return limits_of_blocks(rule, model);
    case KeySource::kDeepstackMapping: return deepstack_mapping(rule, model);
    case KeySource::kQuantiles: return quantiles(rule, model);
    case KeySource::kLeadingDense: return leading_dense(model);
    case KeySource::kRotaryOfKind: return rotary_of_kind(rule, model);
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
