#include "transforms/from_gguf/rope.h"

#include <algorithm>
#include <cmath>

namespace ckpt {
namespace {

constexpr uint64_t kMaxFactors = 65536;

// Share of the way from unscaled to scaled, of a divisor between 1 and `factor`.
double smooth_of(double divisor, double factor) {
  return (1 / divisor - 1 / factor) / (1 - 1 / factor);
}

// Two divisors on the slope say where it lies: s = turns / (high - low) - low / (high - low).
void add_slope(const std::vector<float>& divisors, double factor, JsonValue& rope) {
  double context = 8192, high = 4;
  const JsonValue* base = known(rope, "rope_theta");
  const double theta = base == nullptr ? 10000 : number(*base).value_or(10000);
  std::vector<std::pair<double, double>> slope;  // 1 / wavelength, smooth
  for (size_t i = 0; i < divisors.size(); ++i) {
    if (divisors[i] <= 1 || divisors[i] >= static_cast<float>(factor)) continue;
    const double exponent = static_cast<double>(i) / static_cast<double>(divisors.size());
    slope.emplace_back(1 / (2 * M_PI * std::pow(theta, exponent)),
                       smooth_of(static_cast<double>(divisors[i]), factor));
  }
  if (slope.size() >= 2 && slope.front().first != slope.back().first) {
    const double rise =
        (slope.front().second - slope.back().second) / (slope.front().first - slope.back().first);
    const double at_zero = slope.front().second - rise * slope.front().first;
    if (at_zero < 0) {
      high = std::round((1 - 1 / at_zero) * 1000) / 1000;
      context = std::round(rise * (high - 1));
    }
  }
  rope["low_freq_factor"] = 1.0;
  rope["high_freq_factor"] = high;
  if (context >= 1 && context < 1e9) {
    rope["original_max_position_embeddings"] = static_cast<uint64_t>(context);
  }
}

Status add_list(const Checkpoint& file, const char* name, const char* field, JsonValue& rope) {
  const Tensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) return {};
  CKPT_ASSIGN(const std::vector<float> values, read_values(*tensor, kMaxFactors));
  JsonValue list = JsonValue::array();
  for (const float value : values) {
    list.push_back(std::strtod(fmt::format("{}", value).c_str(), nullptr));
  }
  rope[field] = std::move(list);
  return {};
}

}  // namespace

Status add_rope_rule(const Checkpoint& file, JsonValue& rope) {
  CKPT_TRY(add_list(file, "rope_factors_long.weight", "long_factor", rope));
  CKPT_TRY(add_list(file, "rope_factors_short.weight", "short_factor", rope));
  if (rope.contains("long_factor")) rope["rope_type"] = "longrope";
  const Tensor* tensor = file.find_tensor("rope_freqs.weight");
  if (tensor == nullptr) return {};
  CKPT_ASSIGN(const std::vector<float> divisors, read_values(*tensor, kMaxFactors));
  if (divisors.empty()) return {};
  const double factor = static_cast<double>(*std::max_element(divisors.begin(), divisors.end()));
  rope["rope_type"] = "llama3";
  rope["factor"] = factor;
  if (factor > 1) add_slope(divisors, factor, rope);
  return {};
}

}  // namespace ckpt
