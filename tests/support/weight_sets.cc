#include "tests/support/weight_sets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ckpt {

uint32_t Dice::bits() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<uint32_t>(state_ >> 32);
}

// The sum of 12 uniform numbers would do; 6 with the right variance are as good for tests.
float Dice::normal() {
  float sum = -3;
  for (int i = 0; i < 6; ++i) sum += uniform();
  return sum * 1.4142135f;
}

namespace {

using Values = std::span<float>;
constexpr size_t kBlock = 256;
constexpr size_t kSub = 16;  // the shortest run of values with a scale of its own

float bf16(float value) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x8000u) & 0xFFFF0000u);
}

// 2^low .. 2^high
float power(Dice& dice, int low, int high) {
  return std::ldexp(1 + dice.uniform(),
                    low + static_cast<int>(dice.below(static_cast<uint32_t>(high - low))));
}

template <class Fill>
void each_run(Values values, size_t length, const Fill& fill) {
  for (size_t at = 0; at < values.size(); at += length) fill(values.subspan(at, length));
}

std::vector<float> read_trained() {
  std::vector<float> out;
  std::ifstream file(CKPT_TESTDATA "/qwen35-micro/model.safetensors", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  uint64_t header_bytes = 0;
  if (bytes.size() < 8) return out;
  std::memcpy(&header_bytes, bytes.data(), 8);
  const char* begin = bytes.data() + 8;
  const auto header = nlohmann::json::parse(begin, begin + header_bytes, nullptr, false);
  for (const auto& [name, tensor] : header.items()) {
    if (tensor.value("dtype", "") != "BF16" || tensor["shape"].size() != 2) continue;
    const uint64_t last = tensor["data_offsets"][1];
    for (uint64_t at = tensor["data_offsets"][0]; at < last; at += 2) {
      uint16_t code = 0;
      std::memcpy(&code, begin + header_bytes + at, sizeof(code));
      out.push_back(std::bit_cast<float>(uint32_t{code} << 16));
    }
  }
  return out;
}

void fill_trained(Values values, Dice& dice) {
  static const std::vector<float> trained = read_trained();
  if (trained.size() < kBlock) std::abort();  // testdata is incomplete
  each_run(values, kBlock, [&](Values block) {
    const size_t at = dice.below(static_cast<uint32_t>(trained.size() / kBlock)) * kBlock;
    std::copy_n(trained.begin() + static_cast<std::ptrdiff_t>(at), kBlock, block.begin());
  });
}

void fill_gaussian(Values values, Dice& dice) {
  for (float& value : values) value = bf16(0.02f * dice.normal());
}
void fill_full_precision(Values values, Dice& dice) {
  const float scale = power(dice, -20, 20);
  for (float& value : values) value = scale * dice.normal();
}
void fill_heavy_tails(Values values, Dice& dice) {
  for (float& value : values) value = bf16(0.01f * dice.normal() / (0.02f + dice.uniform()));
}
void fill_one_sided(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const float sign = dice.below(2) ? 1.0f : -1.0f;
    const float offset = dice.below(2) ? 0.0f : power(dice, -3, 12);
    for (float& value : run) value = sign * (offset + std::fabs(dice.normal()));
  });
}
// Small integers times a power of two: errors, quotients and comparisons tie exactly.
void fill_lattice(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const uint32_t bound = 1 + dice.below(dice.below(4) ? 40 : 3);
    const float step = std::ldexp(1.0f, static_cast<int>(dice.below(20)) - 10);
    const auto offset = static_cast<float>(dice.below(bound + 1));
    for (float& value : run) value = step * (static_cast<float>(dice.below(bound)) - offset);
  });
}
void fill_denormal(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const uint32_t mask = 0x80000000u | ((2u << dice.below(23)) - 1u);
    for (float& value : run) value = std::bit_cast<float>(dice.bits() & mask);
  });
}
// Ranges around the smallest one whose inverse is finite, and sums that underflow.
void fill_tiny(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const float scale = dice.below(2) ? power(dice, -130, -110) : power(dice, -100, -20);
    for (float& value : run) value = scale * dice.normal();
  });
}
void fill_huge(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const float scale = power(dice, 10, 124);
    for (float& value : run) value = scale * dice.normal();
  });
}
void fill_constant(Values values, Dice& dice) {
  each_run(values, kSub, [&](Values run) {
    constexpr float kConstants[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e-40f, -1e-40f, 1e-15f, 3e38f};
    const float drawn = dice.normal() * power(dice, -60, 60);
    const uint32_t which = dice.below(12);
    std::fill(run.begin(), run.end(), which < 8 ? kConstants[which] : drawn);
  });
}
// Differences of a few last bits on a large offset: every quotient is dominated by rounding.
void fill_last_bits(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const float offset = dice.normal() * power(dice, -30, 30);
    const uint32_t bound = 1 + dice.below(40);
    for (float& value : run) {
      value = std::bit_cast<float>(std::bit_cast<uint32_t>(offset) + dice.below(bound));
    }
  });
}
void fill_outlier(Values values, Dice& dice) {
  each_run(values, kBlock, [&](Values block) {
    for (float& value : block) value = 0.02f * dice.normal();
    block[dice.below(kBlock)] = dice.normal() * power(dice, 0, 30);
  });
}
void fill_sparse(Values values, Dice& dice) {
  each_run(values, 32, [&](Values run) {
    const uint32_t share = dice.below(32);
    for (float& value : run) {
      value = dice.below(32) <= share ? (dice.below(2) ? 0.0f : -0.0f) : dice.normal();
    }
  });
}
void fill_zero(Values values, Dice& dice) {
  for (float& value : values) value = dice.below(2) ? 0.0f : -0.0f;
}
void fill_one_exponent(Values values, Dice& dice) {
  each_run(values, kBlock, [&](Values block) {
    const uint32_t exponent = dice.below(255) << 23;
    for (float& value : block) {
      value = std::bit_cast<float>((dice.bits() & 0x807FFFFFu) | exponent);
    }
  });
}
void fill_any_finite(Values values, Dice& dice) {
  for (float& value : values) {
    do value = std::bit_cast<float>(dice.bits());
    while (!std::isfinite(value));
  }
}
// Ordinary blocks with a few Inf and NaN of any payload: one in four blocks has some.
void fill_not_finite(Values values, Dice& dice) {
  each_run(values, kBlock, [&](Values block) {
    fill_gaussian(block, dice);
    if (dice.below(4) != 0) return;
    for (uint32_t i = 1 + dice.below(3); i > 0; --i) {
      const uint32_t payload = dice.below(2) ? 0 : dice.bits() & 0x007FFFFFu;
      const uint32_t sign = dice.bits() & 0x80000000u;
      block[dice.below(kBlock)] = std::bit_cast<float>(sign | 0x7F800000u | payload);
    }
  });
}
void fill_mixed(Values values, Dice& dice) {
  each_run(values, kBlock, [&](Values block) {
    const auto sets = weight_sets();
    const auto which = dice.below(static_cast<uint32_t>(sets.size() - 1));
    (dice.below(3) ? fill_trained : sets[which].fill)(block, dice);
  });
}

constexpr WeightSet kSets[] = {
    {"trained", fill_trained},
    {"gaussian", fill_gaussian},
    {"full_precision", fill_full_precision},
    {"heavy_tails", fill_heavy_tails},
    {"one_sided", fill_one_sided},
    {"lattice", fill_lattice},
    {"denormal", fill_denormal},
    {"tiny", fill_tiny},
    {"huge", fill_huge},
    {"constant", fill_constant},
    {"last_bits", fill_last_bits},
    {"outlier", fill_outlier},
    {"sparse", fill_sparse},
    {"zero", fill_zero},
    {"one_exponent", fill_one_exponent},
    {"any_finite", fill_any_finite},
    {"not_finite", fill_not_finite, false},
    {"mixed", fill_mixed, false},
};

}  // namespace

std::span<const WeightSet> weight_sets() { return kSets; }

}  // namespace ckpt
