// Reconstructs rope_parameters from a GGUF, which stores the divisors of the frequencies as tensors
// but the rule behind them only in part.
#include <algorithm>
#include <cmath>

#include "transforms/from_gguf/config_fields.h"
#include "transforms/to_gguf/keys.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxFactors = 65536;

// The interpolation weight of a divisor between `factor` (0: scaled) and 1 (1: unscaled).
double smooth_of(double divisor, double factor) {
  return (1 / divisor - 1 / factor) / (1 - 1 / factor);
}

struct SlopePoint {
  double turns;  // 1 / wavelength
  double smooth;
};
struct Slope {
  double context = 8192, high = 4;
};

// Two divisors on the slope determine it: s = turns / (high - low) - low / (high - low). With one
// divisor the usual `high` is assumed; with none any context that separates scaled from unscaled.
Slope slope_of(const std::vector<SlopePoint>& points, double last_unscaled, double first_scaled) {
  Slope out;
  if (points.size() == 1) {
    out.context = std::round((points[0].smooth * (out.high - 1) + 1) / points[0].turns);
  } else if (points.empty()) {
    if (out.context <= last_unscaled * out.high) out.high = 1;  // as in Llama 4, without a slope
    while (out.context >= first_scaled && out.context > 2) out.context /= 2;
    while (out.context <= last_unscaled * out.high && out.context < 1e9) out.context *= 2;
  } else if (points.front().turns != points.back().turns) {
    const double rise = (points.front().smooth - points.back().smooth) /
                        (points.front().turns - points.back().turns);
    const double at_zero = points.front().smooth - rise * points.front().turns;
    if (at_zero >= 0) return out;
    out.high = std::round((1 - 1 / at_zero) * 1000) / 1000;
    out.context = std::round(rise * (out.high - 1));
  }
  return out;
}

void add_slope(const std::vector<float>& divisors, double factor, JsonValue& rope) {
  const double theta = number(known(rope, "rope_theta")).value_or(10000);
  std::vector<SlopePoint> points;
  double last_unscaled = 0, first_scaled = 1e9;
  for (size_t i = 0; i < divisors.size(); ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(divisors.size());
    const double wavelength = 2 * M_PI * std::pow(theta, exponent);
    const bool is_scaled = divisors[i] >= static_cast<float>(factor);
    if (divisors[i] <= 1) last_unscaled = wavelength;
    if (is_scaled) first_scaled = std::min(first_scaled, wavelength);
    if (divisors[i] <= 1 || is_scaled) continue;
    points.push_back({1 / wavelength, smooth_of(static_cast<double>(divisors[i]), factor)});
  }
  const Slope slope = slope_of(points, last_unscaled, first_scaled);
  rope["low_freq_factor"] = 1.0;
  rope["high_freq_factor"] = slope.high;
  if (slope.context >= 1 && slope.context < 1e9) {
    rope["original_max_position_embeddings"] = static_cast<uint64_t>(slope.context);
  }
}

Status add_list(const Checkpoint& file, const char* name, const char* field, JsonValue& rope) {
  const Tensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) return {};
  CKPT_ASSIGN(const std::vector<float> values, read_values(*tensor, kMaxFactors));
  JsonValue list = JsonValue::array();
  for (const float value : values) list.push_back(json_of(MetaValue::f32(value)));
  rope[field] = std::move(list);
  return {};
}

// The context of training, which longrope needs.
void add_original_context(const Checkpoint& file, const Family& family, JsonValue& rope) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  const std::string* type = text_of(rope, "rope_type");
  if (type == nullptr || *type != "longrope" || rope.contains(kOriginal)) return;
  const std::string key = fmt::format("{}.rope.scaling.original_context_length", family.name);
  const MetaValue* found = file.metadata.find(key);
  const auto context = found == nullptr ? absent_gguf_value(file, key) : std::optional(*found);
  if (context) rope[kOriginal] = json_of(*context);
}

// Sets the share of a head that rotates: divisors of the rest are so large that it stays fixed.
void add_turned_share(const std::vector<float>& divisors, JsonValue& rope) {
  const auto turned = std::ranges::count(divisors, 1.0f);
  rope["rope_type"] = "proportional";
  rope["partial_rotary_factor"] =
      static_cast<double>(turned) / static_cast<double>(divisors.size());
}

}  // namespace

void take_rope_scaling(const Checkpoint& file, const Family& family, JsonValue& rope) {
  const auto key = [&](std::string_view name) {
    return file.metadata.find(fmt::format("{}.rope.scaling.{}", family.name, name));
  };
  const MetaValue* type = key("type");
  const auto* text = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
  const auto absent = [&](std::string_view name) {
    return absent_gguf_value(file, fmt::format("{}.rope.scaling.{}", family.name, name));
  };
  const auto absent_factor = absent("factor");
  const JsonValue factor = key("factor") != nullptr ? json_of(*key("factor"))
                           : absent_factor          ? json_of(*absent_factor)
                                                    : JsonValue();
  const bool has_factor = factor.is_number() && factor != 0.0 && factor != 1.0;
  const std::string kind = text == nullptr ? "linear" : *text;
  if (kind == "none" || (kind == "linear" && !has_factor)) return;
  rope["rope_type"] = kind;
  if (rope["rope_type"] == "yarn" || has_factor) rope["factor"] = factor;
  constexpr std::pair<std::string_view, const char*> kRows[] = {
      {"factor", "factor"},
      {"original_context_length", "original_max_position_embeddings"},
      {"yarn_ext_factor", "extrapolation_factor"},
      {"yarn_attn_factor", kAttentionFactor},
      {"yarn_beta_fast", "beta_fast"},
      {"yarn_beta_slow", "beta_slow"},
  };
  for (const auto& [name, field] : kRows) {
    if (const MetaValue* value = key(name)) rope[field] = json_of(*value);
  }
}

void take_rope_sections(const MetaValue& value, JsonValue& rope) {
  const auto* array = std::get_if<MetaArray>(&value.value);
  if (array == nullptr || array->count() != 4 || !array->holds_numbers()) return;
  JsonValue sections = JsonValue::array();
  for (uint64_t i = 0; i < 3; ++i) sections.push_back(static_cast<int64_t>(number_at(*array, i)));
  rope["mrope_section"] = std::move(sections);
  rope["mrope_interleaved"] = true;
}

void take_xd_rope(const Checkpoint& file, const Family& family, JsonValue& rope) {
  const auto key = [&](std::string_view name) {
    return file.metadata.find(fmt::format("{}.rope.{}", family.name, name));
  };
  const MetaValue *alpha = key("scaling.alpha"), *factor = key("scaling.factor");
  const MetaValue* sections = key("dimension_sections");
  if (alpha == nullptr) return;
  rope["rope_type"] = "dynamic";
  rope["alpha"] = json_of(*alpha);
  if (factor != nullptr) rope["factor"] = json_of(*factor);
  const auto* list = sections == nullptr ? nullptr : std::get_if<MetaArray>(&sections->value);
  if (list == nullptr || !list->holds_numbers()) return;
  rope.erase("mrope_interleaved");
  rope["mrope_section"] = JsonValue::array();
  for (uint64_t i = 0; i < list->count(); ++i) {
    rope["mrope_section"].push_back(static_cast<int64_t>(number_at(*list, i)));
  }
}

void take_rotated(std::string_view field, uint64_t count, JsonValue& config, JsonValue& rope) {
  const auto number_of = [&](std::string_view name) {
    return number(known(config, name)).value_or(0);
  };
  const bool is_head = field == "head_dim";  // other fields only for partial rotation
  const auto turned = static_cast<double>(count);
  double all = number_of(field);
  if (is_head && all == 0 && number_of("num_attention_heads") > 0) {
    all = number_of("hidden_size") / number_of("num_attention_heads");
  }
  if (all <= 0 || (!is_head && all == turned)) return;
  rope["partial_rotary_factor"] = turned / all;
  config["partial_rotary_factor"] = turned / all;
}

// Both transformers 4 and 5 read old names for the bases of two kinds of attention.
void finish_rope(const Family& family, JsonValue& rope, JsonValue& config) {
  if (family.rope.is_proportional) {
    config["rope_parameters"] = {{"full_attention", rope}};
    if (const JsonValue* base = known(config, "rope_local_base_freq")) {
      config["rope_parameters"]["sliding_attention"] = {{"rope_type", "default"},
                                                        {"rope_theta", *base}};
    }
    config.erase("rope_local_base_freq");
    return;
  }
  if (config.contains("rope_parameters")) return;  // the rows of the family set it
  if (rope.contains("rope_theta") && !config.contains("rope_theta")) {
    config["rope_theta"] = rope["rope_theta"];
  }
  const bool is_scaled = rope.contains("rope_type");
  if (const JsonValue* context = known(config, "original_max_position_embeddings")) {
    if (is_scaled) rope["original_max_position_embeddings"] = *context;
  }
  // Phi3Config sets the top-level field to 4096 if it is only in the dictionary.
  const bool is_long = is_scaled && rope["rope_type"] == "longrope";
  if (is_long && rope.contains("original_max_position_embeddings")) {
    const JsonValue& original = rope["original_max_position_embeddings"];
    config["original_max_position_embeddings"] = original;
    const double usual = long_rope_attention(
        number(known(config, "max_position_embeddings")).value_or(0), number(original).value_or(0));
    const auto factor = number(known(rope, kAttentionFactor));
    if (factor && static_cast<float>(*factor) == static_cast<float>(usual)) {
      rope.erase(kAttentionFactor);  // the class computes it
    }
  }
  if (is_scaled) config["rope_scaling"] = rope;
  // Olmo3Config expects no parameters, or parameters for two kinds of attention.
  const bool is_of_kinds = family.traits.text.has(ModelTrait::kRopeOfKinds);
  if (is_of_kinds || config.contains("rope_local_base_freq")) return;
  if (!is_scaled) rope["rope_type"] = "default";
  config["rope_parameters"] = rope;
}

Status add_rope_rule(const Checkpoint& file, const Family& family, JsonValue& rope) {
  CKPT_TRY(add_list(file, "rope_factors_long.weight", "long_factor", rope));
  CKPT_TRY(add_list(file, "rope_factors_short.weight", "short_factor", rope));
  if (rope.contains("long_factor")) rope["rope_type"] = "longrope";
  add_original_context(file, family, rope);
  const Tensor* tensor = file.find_tensor("rope_freqs.weight");
  if (tensor == nullptr) return {};
  CKPT_ASSIGN(std::vector<float> divisors, read_values(*tensor, kMaxFactors));
  if (divisors.empty()) return {};
  if (family.rope.is_proportional) {
    add_turned_share(divisors, rope);
    return {};
  }
  // If layers rotate entire heads, the divisors after the first half are 1.
  if (family.traits.text.has(ModelTrait::kListsRopeTheta)) divisors.resize(divisors.size() / 2);
  if (divisors.empty()) return {};
  const double factor = static_cast<double>(*std::ranges::max_element(divisors));
  rope["rope_type"] = "llama3";
  rope["factor"] = factor;
  if (factor > 1) add_slope(divisors, factor, rope);
  return {};
}

}  // namespace ckpt
