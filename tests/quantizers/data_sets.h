// Values that encoders are tried on: what weights look like, and what breaks encoders.
//
// The same seed gives the same values on every machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/float_convert.h"

namespace ckpt {

// xorshift64*: small, and the same everywhere, unlike std::normal_distribution.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint32_t bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
  }
  uint32_t below(uint32_t limit) { return bits() % limit; }
  float unit() { return static_cast<float>(bits() >> 8) * 0x1p-24f; }  // [0, 1)
  float normal() {  // twelve uniforms; near enough to a bell
    float sum = -6;
    for (int i = 0; i < 12; ++i) sum += unit();
    return sum;
  }

 private:
  uint64_t state_;
};

struct DataSet {
  std::string_view name;
  void (*fill)(Random&, float* row, uint64_t row_values);
};

template <class Function>
void fill_each(float* row, uint64_t count, Function function) {
  for (uint64_t i = 0; i < count; ++i) row[i] = function(i);
}

inline float to_bf16(float value) { return float_from_bf16(bf16_from_float(value)); }
inline float power_of_two(int exponent) { return std::ldexp(1.0f, exponent); }
inline constexpr DataSet kDataSets[] = {
    {"trained",
     [](Random& r, float* row, uint64_t n) {  // rows differ in scale; a few outliers
       const float scale = 0.02f * (0.3f + r.unit() * r.unit() * 3);
       fill_each(row, n, [&](uint64_t) {
         return to_bf16(r.normal() * scale * (r.below(500) == 0 ? 12.0f : 1.0f));
       });
     }},
    {"gaussian",
     [](Random& r, float* row, uint64_t n) {
       fill_each(row, n, [&](uint64_t) { return r.normal() * 0.02f; });
     }},
    {"heavy_tailed",
     [](Random& r, float* row, uint64_t n) {
       fill_each(row, n, [&](uint64_t) {
         const float divisor = r.normal() * r.normal() + r.normal() * r.normal();
         return to_bf16(r.normal() / std::sqrt(0.01f + std::fabs(divisor)) * 0.05f);
       });
     }},
    {"lattice",
     [](Random& r, float* row, uint64_t n) {  // exact ties
       const uint32_t width = 1 + r.below(70);
       const float step = power_of_two(static_cast<int>(r.below(40)) - 30);
       fill_each(row, n, [&](uint64_t) {
         return (static_cast<float>(r.below(2 * width + 1)) - static_cast<float>(width)) * step;
       });
     }},
    {"sparse",
     [](Random& r, float* row, uint64_t n) {
       fill_each(row, n, [&](uint64_t i) {
         if (i / 32 % 5 == 0 || r.below(10) < 7) return r.below(2) == 0 ? 0.0f : -0.0f;
         return to_bf16(r.normal());
       });
     }},
    {"one_signed",
     [](Random& r, float* row, uint64_t n) {
       const float sign = r.below(2) == 0 ? 1.0f : -1.0f;
       fill_each(row, n, [&](uint64_t) { return sign * std::fabs(r.normal()); });
     }},
    {"offset",
     [](Random& r, float* row, uint64_t n) {  // a tiny range far from zero
       const float center = r.normal() * 10;
       const float spread = power_of_two(-static_cast<int>(r.below(30)));
       fill_each(row, n, [&](uint64_t) { return center + r.normal() * spread; });
     }},
    {"constants",
     [](Random& r, float* row, uint64_t n) {  // one constant a 16th of a block
       float value = 0;
       fill_each(row, n, [&](uint64_t i) {
         if (i % 16 == 0 && r.below(3) != 0) {
           value = r.normal() * power_of_two(static_cast<int>(r.below(250)) - 128);
         }
         return value;
       });
     }},
    {"outliers",
     [](Random& r, float* row, uint64_t n) {
       fill_each(row, n, [&](uint64_t i) {
         const float value = r.normal() * 1e-3f;
         return i % 97 == 13 ? value * 3e8f : value;
       });
     }},
    {"scaled_blocks",
     [](Random& r, float* row, uint64_t n) {  // every exponent
       float scale = 1;
       fill_each(row, n, [&](uint64_t i) {
         if (i % 32 == 0) scale = power_of_two(static_cast<int>(r.below(272)) - 148);
         return r.normal() * scale;
       });
     }},
    {"denormals",
     [](Random& r, float* row, uint64_t n) {
       const uint32_t mask = 0xFFFFFFFFu >> (9 + r.below(23));
       fill_each(row, n,
                 [&](uint64_t) { return std::bit_cast<float>(r.bits() & (mask | 0x80000000u)); });
     }},
    {"random_bits",
     [](Random& r, float* row, uint64_t n) {
       fill_each(row, n, [&](uint64_t) {
         const uint32_t bits = r.bits();
         const bool finite = (bits & 0x7F800000u) != 0x7F800000u;
         return std::bit_cast<float>(finite ? bits : bits & 0xBFFFFFFFu);
       });
     }},
    {"tiny",
     [](Random& r, float* row, uint64_t n) {  // about the zero limit of the searches
       const float scale = 1e-15f * power_of_two(static_cast<int>(r.below(12)) - 6);
       fill_each(row, n, [&](uint64_t) { return r.normal() * scale; });
     }},
};

inline std::vector<float> make_rows(const DataSet& set, uint64_t seed, uint64_t rows,
                                    uint64_t row_values) {
  std::vector<float> values(rows * row_values);
  Random random(seed);
  for (uint64_t row = 0; row < rows; ++row) {
    set.fill(random, values.data() + row * row_values, row_values);
  }
  return values;
}

// Importances: positive, uneven, some 0.
inline std::vector<float> make_weights(uint64_t seed, uint64_t row_values) {
  Random random(seed);
  std::vector<float> weights(row_values);
  const bool flat = seed % 5 == 0;
  for (float& weight : weights) {
    weight = flat ? 1.0f : random.below(200) == 0 ? 0.0f : std::fabs(random.normal()) * 0.1f;
  }
  return weights;
}

}  // namespace ckpt
