// Fields of config.json that describe each layer, from the lists of a GGUF's keys.
#include <algorithm>
#include <cmath>

#include "core/base/words.h"
#include "transforms/from_gguf/config_fields.h"

namespace ckpt {
namespace {

using LayerNumbers = std::vector<double>;

// Empty if the value is not a list of numbers.
LayerNumbers layer_numbers(const MetaValue& value) {
  const auto* array = std::get_if<MetaArray>(&value.value);
  LayerNumbers out;
  if (array == nullptr || !array->holds_numbers()) return out;
  for (uint64_t i = 0; i < array->count(); ++i) out.push_back(number_at(*array, i));
  return out;
}

// A count in a list; 0 if the number is not a count.
uint64_t count_of(double value) {
  return value >= 0 && value <= UINT32_MAX ? static_cast<uint64_t>(value) : 0;
}

JsonValue words_of(const LayerNumbers& numbers, uint64_t count, std::string_view yes,
                   std::string_view no) {
  JsonValue out = JsonValue::array();
  for (uint64_t i = 0; i < std::min<uint64_t>(count, numbers.size()); ++i) {
    out.push_back(std::string(numbers[i] != 0 ? yes : no));
  }
  return out;
}

void take_types(const LayerNumbers& numbers, uint64_t layers, std::string_view yes,
                std::string_view no, JsonValue& config) {
  if (!numbers.empty()) config["layer_types"] = words_of(numbers, layers, yes, no);
}

// Sets `field` to the largest number, as an integer.
void take_largest(const LayerNumbers& numbers, std::string_view field, JsonValue& config) {
  const auto largest = std::ranges::max_element(numbers);
  if (largest != numbers.end()) config[std::string(field)] = count_of(*largest);
}

bool has_pattern(const Family& family) {
  const auto is_width = [](const KeyRule& rule) {
    return rule.source == KeySource::kMlpWidths || rule.source == KeySource::kExpertWidths;
  };
  return std::ranges::any_of(family.keys, is_width) ||
         std::ranges::any_of(family.keys_around.more, is_width);
}

// Layers without key heads have Mamba or a convolution in place of attention. In a family with a
// pattern they are Mamba or an MLP.
void take_heads(const KeyRule& rule, const LayerNumbers& heads, const Family& family,
                uint64_t layers, JsonValue& config) {
  if (rule.fields != "1") take_largest(heads, rule.fields, config);
  if (has_pattern(family)) {
    std::string pattern;
    for (const double count : heads) pattern += count > 0 ? '*' : 'M';
    config["hybrid_override_pattern"] = pattern;
  } else {  // names in the class: of recurrent layers, then of the others
    const auto& own = family.traits.text.layer_types;
    take_types(heads, layers, own.end() - own.begin() > 1 ? own.begin()[1] : "full_attention",
               own.empty() ? "conv" : *own.begin(), config);
  }
}

// A layer with a width above 0 is an MLP, or experts for the rule kExpertWidths.
void take_widths(const KeyRule& rule, const LayerNumbers& widths, JsonValue& config) {
  const char letter = rule.source == KeySource::kExpertWidths ? 'E' : '-';
  take_largest(widths, rule.fields, config);
  const std::string* found = text_of(config, "hybrid_override_pattern");
  if (found == nullptr) return;
  std::string pattern = *found;
  for (size_t i = 0; i < std::min(pattern.size(), widths.size()); ++i) {
    if (widths[i] > 0) pattern[i] = letter;
  }
  config["hybrid_override_pattern"] = pattern;
}

// Sets two counts, one per kind of attention in layer_types.
void take_heads_of_kinds(const LayerNumbers& heads, JsonValue& config) {
  const JsonValue* types = known(config, "layer_types");
  for (size_t i = 0; types != nullptr && i < std::min(types->size(), heads.size()); ++i) {
    const bool is_sliding = (*types)[i] == "sliding_attention";
    config[is_sliding ? "num_key_value_heads" : "num_global_key_value_heads"] = count_of(heads[i]);
  }
}

JsonValue counts_in(const LayerNumbers& numbers, uint64_t count) {
  JsonValue out = JsonValue::array();
  for (uint64_t i = 0; i < std::min<uint64_t>(count, numbers.size()); ++i) {
    out.push_back(count_of(numbers[i]));
  }
  return out;
}

// `rule.fields` is "FULL SLIDING": fields with the counts for the two kinds of layers, which an
// earlier row sets.
void take_counts_of_kinds(const KeyRule& rule, const LayerNumbers& numbers, const Family& family,
                          JsonValue& config) {
  std::string_view fields = rule.fields;
  const std::string full(take_word(fields)), sliding(fields);
  const auto layers = resolve_layers(family, config, numbers.size());
  for (size_t i = 0; layers && i < numbers.size(); ++i) {
    const bool slides = (*layers)[i].memory() == LayerMemory::kWindow;
    config[slides ? sliding : full] = count_of(numbers[i]);
  }
}

// `rule.fields` is "LIST ONE": a field with a list of counts per layer, and one for all layers.
void take_counts_of_layers(const KeyRule& rule, const LayerNumbers& numbers, uint64_t layers,
                           JsonValue& config) {
  std::string_view fields = rule.fields;
  const std::string list(take_word(fields));
  if (numbers.empty()) return;
  config[list] = counts_in(numbers, layers);
  config[std::string(fields)] = count_of(numbers[0]);
}

// The file lacks the layer of the first projector, so this puts it before all layers.
void take_deepstack(std::string_view field, const LayerNumbers& numbers, JsonValue& config) {
  std::vector<uint64_t> layers = {0};
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > 0) layers.push_back(i);
  }
  config[std::string(field)] = layers;
}

// Replaces each number by the share of the normal distribution below it.
void take_quantiles(std::string_view field, const LayerNumbers& numbers, JsonValue& config) {
  JsonValue parts = JsonValue::array();
  for (const double x : numbers) {
    parts.push_back(std::round(std::erfc(-x / std::sqrt(2.0)) / 2 * 1e5) / 1e5);
  }
  config[std::string(field)] = std::move(parts);
}

// Sets which layers have windows. If `counts_drafts`, the list also has entries for the layers for
// multi-token prediction.
void take_windows(const KeyRule& rule, const LayerNumbers& numbers, bool counts_drafts,
                  uint64_t layers, JsonValue& config) {
  if (rule.type == MetaType::kI32) {
    config[std::string(rule.fields)] = counts_in(numbers, layers);
    return;
  }
  take_types(numbers, counts_drafts ? numbers.size() : layers, "sliding_attention",
             "full_attention", config);
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

JsonValue number_of_layers(const MetaValue& value) {
  const LayerNumbers list = layer_numbers(value);
  const bool is_one = !list.empty() && list[0] == std::floor(list[0]) &&
                      std::ranges::count(list, list[0]) == std::ssize(list);
  return is_one ? JsonValue(count_of(list[0])) : json_of(value);
}

bool take_layer_list(const KeyRule& rule, const MetaValue& value, const Family& family,
                     uint64_t layers, JsonValue& config) {
  const LayerNumbers numbers = layer_numbers(value);
  switch (rule.source) {
    case KeySource::kRecurrentLayers:
      take_types(numbers, layers, "linear_attention", "full_attention", config);
      return true;
    case KeySource::kSlidingPattern:
      take_windows(rule, numbers, family.drafts.nextn == NextnLayers::kKept, layers, config);
      return true;
    case KeySource::kCountsOfKinds:
      take_counts_of_kinds(rule, numbers, family, config);
      return true;
    case KeySource::kCountsOfLayers:
      take_counts_of_layers(rule, numbers, layers, config);
      return true;
    case KeySource::kLimits:
      if (rule.type != MetaType::kArray) {
        config[std::string(rule.fields)] = numbers.empty() ? json_of(value) : JsonValue(numbers[0]);
      } else if (!numbers.empty()) {
        config[std::string(rule.fields)] = numbers;
      }
      return true;
    case KeySource::kWholeList:
      config[std::string(rule.fields)] = counts_in(numbers, numbers.size());
      return true;
    case KeySource::kQuantiles: take_quantiles(rule.fields, numbers, config); return true;
    case KeySource::kDeepstackMapping:
      take_deepstack(split_words(rule.fields).back(), numbers, config);
      return true;
    case KeySource::kSlidingLayers:
      take_windows(rule, numbers, false, layers, config);
      return true;
    case KeySource::kAttentionHeads:
      if (!numbers.empty()) take_heads(rule, numbers, family, layers, config);
      return true;
    case KeySource::kExpertWidths:
    case KeySource::kMlpWidths: take_widths(rule, numbers, config); return true;
    case KeySource::kFullOrSlidingHeads: take_heads_of_kinds(numbers, config); return true;
    case KeySource::kWideFeedForward:
      if (numbers.empty()) return true;  // a single width; another row handles it
      config["use_double_wide_mlp"] = true;
      config["intermediate_size"] = count_of(*std::ranges::min_element(numbers));
      return true;
    case KeySource::kFullLayers:
      config[std::string(split_words(rule.fields)[0])] =
          words_of(numbers, numbers.size(), "full", "shared");
      return true;
    default: return false;
  }
}

}  // namespace ckpt
