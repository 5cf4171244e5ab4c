// Chooses types for tensors: finds the choice with the lowest error within a size.
//
// Floors prevent choices whose damage is not visible in the errors of values: no type below 9 dB
// (an error of an eighth of the values' energy), and none below `least_bits` of a tensor. If no
// choice fits with floors, all of them are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/codec.h"

namespace ckpt {

// Picks one choice for each item so that the sum of sizes stays within a limit and the sum of costs
// is minimal: the multiple-choice knapsack problem.
//
//   price of a byte (bisection) ──▶ cheapest choice of each item ──▶ improvement by single changes
//   and exchanges ──▶ search of the remaining gap (exact, within kSearchNodes)
//
// The result is the same on every machine; ties go to the earlier choice.

struct KnapsackChoice {
  uint64_t size = 0;
  double cost = 0;  // finite, not negative
};
// The choices of one item. An item without choices is ignored.
using KnapsackItem = std::vector<KnapsackChoice>;

struct KnapsackAnswer {
  std::vector<uint32_t> chosen;  // index per item; 0 for an item without choices
  uint64_t size = 0;
  double cost = 0;
  bool is_exact = false;  // proven to have the lowest cost
};

// Returns nullopt if even the smallest choices together exceed `limit`.
std::optional<KnapsackAnswer> solve_knapsack(const std::vector<KnapsackItem>& items,
                                             uint64_t limit);

struct TypeOffer {
  const Codec* codec = nullptr;
  uint64_t size_bytes = 0;  // counts against the limit
  double error = 0;         // relative: noise / signal (measured_file.h)
};

struct FreeTensor {
  std::string name;  // tensor's name in the output
  uint64_t weights = 0;
  double sensitivity = 1;  // sensitivity.h
  double least_bits = 0;   // least bits per weight
  std::vector<TypeOffer> offers;
};

inline constexpr double kLeastSqnrDb = 9;
double sqnr_db(double relative_error);

struct TypeChoice {
  std::vector<uint32_t> offers;  // index of an offer, per tensor
  uint64_t size_bytes = 0;
  double cost = 0;  // sum of sensitivity x error
  bool keeps_floors = true;
};

// The minimum bits per weight for a tensor of that role and size. Floors exist for the output, for
// tensors that every token passes through in a model with experts, and for tensors so small that
// more bits cost almost nothing.
double least_bits(const FreeTensor& tensor, uint64_t all_weights, bool has_experts, bool is_output);

// Returns nullopt if not even the smallest types fit.
std::optional<TypeChoice> choose_types(const std::vector<FreeTensor>& tensors,
                                       uint64_t limit_bytes);
// The cost of given types, which must be among the offers; nullopt if one is not.
std::optional<double> cost_of(const std::vector<FreeTensor>& tensors,
                              const std::vector<const Codec*>& types);

// A glob that matches only `name`.
std::string literal_glob(std::string_view name);

}  // namespace ckpt
