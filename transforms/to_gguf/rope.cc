// Divisors of the rotary frequencies, computed for llama3 scaling or read from long_factor and
// short_factor (llama.cpp conversion/{llama,phi}.py generate_extra_tensors).
//
//   f_i = theta^(-2i/D)    w = 2 pi / f_i    s = (context / w - low) / (high - low)
//   w < context / high: 1      w > context / low: factor      else: 1 / ((1 - s) / factor + s)
//
// Every step rounds to F32, like PyTorch's scalars and tensors; a number divided by a tensor is its
// reciprocal times the number. If layers rotate different shares of a head, the converter computes
// the divisors in double precision (conversion/step3.py).
#include <algorithm>
#include <cmath>

#include "core/base/words.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {
namespace {

struct Scaling {
  double theta = 10000, factor = 8, low = 1, high = 4, context = 8192;
};

Status read_number(const JsonValue& rope, const char* field, double& out) {
  const JsonValue* found = member(rope, field);
  if (found == nullptr) return {};
  const auto value = number(*found);
  if (!value || !(*value > 0)) {
    return corrupt("config.json: {} is {}; expected a number above 0", field, found->dump());
  }
  out = *value;
  return {};
}

float frequency_of(const Scaling& scaling, uint64_t index, uint64_t head_values) {
  const float exponent = static_cast<float>(index * 2) / static_cast<float>(head_values);
  const auto power = static_cast<float>(std::pow(
      static_cast<double>(static_cast<float>(scaling.theta)), static_cast<double>(exponent)));
  return 1.0f / power;
}

// Computes in double precision, like Python, from an F32 frequency.
float exact_factor_of(const Scaling& scaling, double frequency) {
  const double wavelength = 2 * M_PI / frequency;
  if (wavelength < scaling.context / scaling.high) return 1.0f;
  if (wavelength > scaling.context / scaling.low) return static_cast<float>(scaling.factor);
  const double smooth = (scaling.context / wavelength - scaling.low) / (scaling.high - scaling.low);
  return static_cast<float>(1 / ((1 - smooth) / scaling.factor + smooth));
}

float factor_of(const Scaling& scaling, float frequency) {
  const float wavelength = (1.0f / frequency) * static_cast<float>(2 * M_PI);
  if (wavelength < static_cast<float>(scaling.context / scaling.high)) return 1.0f;
  if (wavelength > static_cast<float>(scaling.context / scaling.low)) {
    return static_cast<float>(scaling.factor);
  }
  const float turns = (1.0f / wavelength) * static_cast<float>(scaling.context);
  const float smooth =
      (turns - static_cast<float>(scaling.low)) / static_cast<float>(scaling.high - scaling.low);
  const float divisor = (1.0f - smooth) / static_cast<float>(scaling.factor) + smooth;
  return 1.0f / divisor;
}

// The share for the first layer with full attention; nullptr if shares are not listed.
Result<const JsonValue*> rotary_share_of_full(const Model& model) {
  const JsonValue& shares = list_in(model.config, "partial_rotary_factors");
  if (shares.empty()) return nullptr;
  CKPT_ASSIGN(const std::vector<bool> are_full, layers_of_type(model, "full_attention"));
  for (size_t i = 0; i < std::min(shares.size(), are_full.size()); ++i) {
    if (are_full[i]) return &shares[i];
  }
  return nullptr;
}

Result<std::vector<float>> llama3_factors(const Model& model) {
  const JsonValue* full = known(model.rope, "full_attention");
  const JsonValue& rope = full == nullptr ? model.rope : *full;
  const std::string_view type = text_in(rope, "rope_type");
  const bool is_llama3 = type == "llama3" || type == "LLAMA3";
  if (is_llama3 && model.family->rope.refused == "llama3") {
    return unsupported("config.json: rope scaling {}: llama.cpp has none for {}", type,
                       model.architecture);
  }
  if (!model.family->rope.has_factors || !is_llama3) return std::vector<float>();
  Scaling scaling;
  CKPT_TRY(read_number(rope, "rope_theta", scaling.theta));
  CKPT_TRY(read_number(rope, "factor", scaling.factor));
  CKPT_TRY(read_number(rope, "low_freq_factor", scaling.low));
  CKPT_TRY(read_number(rope, "high_freq_factor", scaling.high));
  CKPT_TRY(read_number(rope, "original_max_position_embeddings", scaling.context));
  CKPT_ASSIGN(const uint64_t head_values, model.head_values());
  if (head_values > 65536) return corrupt("config.json: heads of {} values", head_values);
  // If layers rotate different shares of a head, scaling uses the share of full attention.
  CKPT_ASSIGN(const JsonValue* listed, rotary_share_of_full(model));
  CKPT_ASSIGN(const double share, share_of(listed, "partial_rotary_factors", 1.0));
  const auto turned = static_cast<uint64_t>(static_cast<double>(head_values) * share);
  std::vector<float> out;
  for (uint64_t i = 0; i * 2 < turned; ++i) {
    const float frequency = frequency_of(scaling, i, turned);
    out.push_back(listed == nullptr ? factor_of(scaling, frequency)
                                    : exact_factor_of(scaling, static_cast<double>(frequency)));
  }
  out.resize(std::max<size_t>(out.size(), head_values / 2), 1.0f);
  return out;
}

Result<std::vector<float>> number_list(const JsonValue& rope, const char* field, uint64_t count) {
  const JsonValue& list = list_in(rope, field);
  if (list.size() != count || known(rope, field) == nullptr) {
    return corrupt(
        "config.json: {} has {} numbers; expected {}, one for two rotated values of a head", field,
        list.size(), count);
  }
  std::vector<float> out;
  for (const JsonValue& entry : list) {
    const auto value = number(entry);
    if (!value) return corrupt("config.json: {} has {}; expected numbers", field, entry.dump());
    out.push_back(static_cast<float>(*value));
  }
  return out;
}

}  // namespace

Result<double> share_of(const JsonValue* found, std::string_view name,
                        std::optional<double> otherwise) {
  const auto share = found == nullptr ? otherwise : number(*found);
  if (share && *share >= 0 && *share <= 1) return *share;
  return corrupt("config.json: {} is {}; expected 0 to 1", name,
                 found == nullptr ? "missing" : found->dump());
}

Result<uint64_t> partial_rotary_values(const Model& model) {
  CKPT_ASSIGN(const uint64_t hidden, model.count("hidden_size n_embd"));
  CKPT_ASSIGN(const uint64_t heads, model.count("num_attention_heads n_head"));
  const JsonValue* factor = known(model.rope, "partial_rotary_factor");
  const auto part = factor == nullptr ? std::optional<double>(1.0) : number(*factor);
  if (!part || !(*part > 0) || *part > 1 || heads == 0) {
    return corrupt("config.json: {} heads, of which the share {} is rotated; expected above 0 to 1",
                   heads, factor == nullptr ? "1" : factor->dump());
  }
  return static_cast<uint64_t>(*part * static_cast<double>(hidden)) / heads;
}

double long_rope_attention(double longest, double original) {
  const double scale = longest / original;
  return scale > 1 ? std::sqrt(1 + std::log(scale) / std::log(original)) : 1.0;
}

Result<std::optional<double>> long_rope_attention(const Model& model) {
  if (!model.family->rope.is_long || !is_truthy(known(model.rope, "long_factor"))) {
    return std::optional<double>();
  }
  const std::string* type = text_of(model.rope, "rope_type");
  if (type == nullptr || !has_word("longrope su yarn", *type)) {
    return unsupported("config.json: long_factor with rope_type {}; expected longrope or su",
                       type == nullptr ? "none" : *type);
  }
  CKPT_ASSIGN(const uint64_t longest, model.count("n_positions max_position_embeddings"));
  double original = 0;
  CKPT_TRY(read_number(model.rope, "original_max_position_embeddings", original));
  if (original <= 1) {
    return corrupt("config.json: original_max_position_embeddings is {}; expected above 1",
                   original);
  }
  if (const auto factor = number(known(model.rope, kAttentionFactor))) return factor;
  return std::optional(long_rope_attention(static_cast<double>(longest), original));
}

Result<std::vector<RopeFactors>> rope_factors(const Model& model) {
  std::vector<RopeFactors> out;
  CKPT_ASSIGN(std::vector<float> llama3, llama3_factors(model));
  if (!llama3.empty()) out.push_back({"rope_freqs.weight", std::move(llama3)});
  CKPT_ASSIGN(std::vector<float> turned, proportional_factors(model));
  if (!turned.empty()) out.push_back({"rope_freqs.weight", std::move(turned)});
  CKPT_ASSIGN(const std::optional<double> attention, long_rope_attention(model));
  if (!attention) return out;
  CKPT_ASSIGN(const uint64_t rotated, partial_rotary_values(model));
  for (const auto& [field, name] : {std::pair("long_factor", "rope_factors_long.weight"),
                                    std::pair("short_factor", "rope_factors_short.weight")}) {
    CKPT_ASSIGN(std::vector<float> values, number_list(model.rope, field, rotated / 2));
    out.push_back({name, std::move(values)});
  }
  return out;
}

}  // namespace ckpt
