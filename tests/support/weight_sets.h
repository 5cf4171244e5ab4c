// Weights that encoders must be right on: ordinary ones and every kind that has its own path.
//
// A set is filled from its seed alone, so a failure is repeated by the same name, size and seed.
// Sizes are whole blocks of 256.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ckpt {

// Small and fast; the numbers are the same on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint32_t bits();
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(uint64_t{bits()} * bound >> 32); }
  float uniform() { return static_cast<float>(bits() >> 8) * 0x1p-24f; }  // [0, 1)
  float normal();                                                         // nearly

 private:
  uint64_t state_;
};

struct WeightSet {
  std::string_view name;
  void (*fill)(std::span<float> values, Dice& dice);
  bool finite = true;  // false: has Inf or NaN
};

// "trained" holds the BF16 matrices of testdata/qwen35-micro; "mixed" takes another set each block.
std::span<const WeightSet> weight_sets();

}  // namespace ckpt
