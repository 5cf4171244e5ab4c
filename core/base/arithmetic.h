// Arithmetic on numbers from files: a product or sum that does not fit gives nullopt instead of
// undefined behavior.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ckpt {

inline std::optional<uint64_t> multiply(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

inline std::optional<uint64_t> add(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// Returns the product of all factors; 1 if there are none.
inline std::optional<uint64_t> product(std::span<const uint64_t> factors) {
  uint64_t out = 1;
  for (uint64_t factor : factors) {
    if (__builtin_mul_overflow(out, factor, &out)) return std::nullopt;
  }
  return out;
}

inline uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Returns the next multiple of `unit`. Requires: a + unit fits 64 bits.
inline uint64_t round_up(uint64_t a, uint64_t unit) { return divide_up(a, unit) * unit; }

}  // namespace ckpt
