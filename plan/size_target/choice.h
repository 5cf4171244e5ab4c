// Types for tensors: the facts about each tensor, and the choice with the lowest error within a
// size.
//
// Floors prevent choices whose damage the errors of values do not show: no type below 9 dB (an
// error of an eighth of the values' energy), and none below `least_bits` of a tensor. If the size
// cannot be reached with them, all floors are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/codec.h"

namespace ckpt {

// One choice for each item, so that the sum of the sizes stays within a limit and the sum of the
// costs is minimal: the multiple-choice knapsack problem.
//
//   price of a byte (bisection) ──▶ cheapest choice of each item ──▶ better single changes and
//   exchanges ──▶ search of what the price leaves open (exact, within kSearchNodes)
//
// The same answer for the same input, whatever the machine; ties go to the earlier choice.

struct KnapsackChoice {
  uint64_t size = 0;
  double cost = 0;  // finite, not negative
};
// The choices of one item; an item without choices is ignored.
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

struct TypeOffer {
  const Codec* codec = nullptr;
  uint64_t size_bytes = 0;  // as it counts against the limit
  double error = 0;         // relative: noise / signal (measured_file.h)
};

struct FreeTensor {
  std::string name;  // in the output
  uint64_t weights = 0;
  double sensitivity = 1;  // sensitivity.h
  double least_bits = 0;   // a weight
  std::vector<TypeOffer> offers;
};

inline constexpr double kLeastSqnrDb = 9;
double sqnr_db(double relative_error);

struct TypeChoice {
  std::vector<uint32_t> offers;  // an index a tensor
  uint64_t size_bytes = 0;
  double cost = 0;  // the sum of sensitivity x error
  bool keeps_floors = true;
};

// The minimum bits per weight for a tensor of that role and size: for the output and, in a model
// with experts, for all other tensors that every token passes through; and for tensors so small
// that bits cost nothing.
double least_bits(const FreeTensor& tensor, uint64_t all_weights, bool has_experts, bool is_output);

// nullopt if not even the smallest types fit.
std::optional<TypeChoice> choose_types(const std::vector<FreeTensor>& tensors,
                                       uint64_t limit_bytes);
// The cost of given types, which are among the offers; nullopt where one is not.
std::optional<double> cost_of(const std::vector<FreeTensor>& tensors,
                              const std::vector<const Codec*>& types);

// A glob that matches `name` alone.
std::string literal_glob(std::string_view name);

}  // namespace ckpt
