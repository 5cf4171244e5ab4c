// One choice for each item, so that all sizes together stay within a limit and all costs together
// are least: the multiple-choice knapsack.
//
//   price of a byte (bisection) ──▶ cheapest choice of each item ──▶ better single changes and
//   exchanges ──▶ search of what the price leaves open (exact, within kSearchNodes)
//
// The same answer for the same input, whatever the machine; ties go to the earlier choice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ckpt {

struct KnapsackChoice {
  uint64_t size = 0;
  double cost = 0;  // finite, not negative
};
// The choices of one item; none: the item takes no part.
using KnapsackItem = std::vector<KnapsackChoice>;

struct KnapsackAnswer {
  std::vector<uint32_t> chosen;  // an index a choice; 0 for an item without choices
  uint64_t size = 0;
  double cost = 0;
  bool is_exact = false;  // proven: no other choice costs less
};

// nullopt: even the smallest choices are larger than `limit` together.
std::optional<KnapsackAnswer> solve_knapsack(const std::vector<KnapsackItem>& items,
                                             uint64_t limit);

}  // namespace ckpt
