// Divisors of the rotary frequencies for llama3 scaling (llama.cpp conversion/llama.py
// generate_extra_tensors).
//
//   f_i = theta^(-2i/D)    w = 2 pi / f_i    s = (context / w - low) / (high - low)
//   w < context / high: 1      w > context / low: factor      else: 1 / ((1 - s) / factor + s)
//
// What a reader would get wrong: every step rounds to F32 as PyTorch's scalars and tensors do; a
// number over a tensor is its reciprocal times the number.
#include <cmath>

#include "transforms/to_gguf.h"

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
    return fail(ErrorCode::kCorrupt, "config.json: {} is {}; expected a number above 0", field,
                found->dump());
  }
  out = *value;
  return {};
}

float factor_of(const Scaling& scaling, uint64_t index, uint64_t head_values) {
  const float exponent = static_cast<float>(index * 2) / static_cast<float>(head_values);
  const auto power = static_cast<float>(std::pow(
      static_cast<double>(static_cast<float>(scaling.theta)), static_cast<double>(exponent)));
  const float frequency = 1.0f / power;
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

}  // namespace

Result<std::vector<float>> rope_factors(const Model& model) {
  const JsonValue* full = known(model.rope, "full_attention");
  const JsonValue& rope = full == nullptr ? model.rope : *full;
  const std::string* type = text_of(rope, "rope_type");
  const bool is_llama3 = type != nullptr && (*type == "llama3" || *type == "LLAMA3");
  if (!model.family->has_rope_factors || !is_llama3) return std::vector<float>();
  Scaling scaling;
  CKPT_TRY(read_number(rope, "rope_theta", scaling.theta));
  CKPT_TRY(read_number(rope, "factor", scaling.factor));
  CKPT_TRY(read_number(rope, "low_freq_factor", scaling.low));
  CKPT_TRY(read_number(rope, "high_freq_factor", scaling.high));
  CKPT_TRY(read_number(rope, "original_max_position_embeddings", scaling.context));
  CKPT_ASSIGN(const uint64_t head_values, model.head_values());
  if (head_values > 65536) {
    return fail(ErrorCode::kCorrupt, "config.json: heads of {} values", head_values);
  }
  std::vector<float> out;
  for (uint64_t i = 0; i * 2 < head_values; ++i) out.push_back(factor_of(scaling, i, head_values));
  return out;
}

}  // namespace ckpt
