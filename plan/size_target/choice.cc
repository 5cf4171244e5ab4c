#include "plan/size_target/choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/conversion/sizes.h"

namespace ckpt {
namespace {

constexpr double kSmallShare = 1.0 / 1024;  // relative to all free weights
constexpr double kSmallLeastBits = 5.5;     // that of q5_k
constexpr double kOutputLeastBits = 4.25;   // that of iq4_xs
constexpr double kSharedLeastBits = 4.25;

// The allowed offers of each tensor, as indices and as knapsack items. A tensor without an offer
// above its floors keeps the type with the lowest error.
struct Open {
  std::vector<std::vector<uint32_t>> offers;
  std::vector<KnapsackItem> items;
};

Open open_offers(const std::vector<FreeTensor>& tensors, bool keeps_floors) {
  Open out;
  for (const FreeTensor& tensor : tensors) {
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < tensor.offers.size(); ++i) {
      const TypeOffer& offer = tensor.offers[i];
      const bool is_above = sqnr_db(offer.error) >= kLeastSqnrDb &&
                            bits_per_weight(offer.size_bytes, tensor.weights) >= tensor.least_bits;
      if (is_above || !keeps_floors) open.push_back(i);
    }
    if (open.empty()) {
      const auto best = std::ranges::min_element(tensor.offers, {}, &TypeOffer::error);
      open.push_back(static_cast<uint32_t>(best - tensor.offers.begin()));
    }
    KnapsackItem item;
    for (const uint32_t i : open) {
      item.push_back({tensor.offers[i].size_bytes, tensor.sensitivity * tensor.offers[i].error});
    }
    out.offers.push_back(std::move(open));
    out.items.push_back(std::move(item));
  }
  return out;
}

}  // namespace

double sqnr_db(double relative_error) {
  constexpr double kMost = 999;
  return relative_error > 0 ? std::min(kMost, -10 * std::log10(relative_error)) : kMost;
}

double least_bits(const FreeTensor& tensor, uint64_t all_weights, bool has_experts,
                  bool is_output) {
  const auto share = static_cast<double>(tensor.weights) / static_cast<double>(all_weights);
  if (share < kSmallShare) return kSmallLeastBits;
  if (is_output) return kOutputLeastBits;
  const bool is_shared = tensor.name.find("_exps.") == tensor.name.npos;
  return has_experts && is_shared && tensor.name.starts_with("blk.") ? kSharedLeastBits : 0;
}

std::optional<TypeChoice> choose_types(const std::vector<FreeTensor>& tensors,
                                       uint64_t limit_bytes) {
  for (const bool keeps_floors : {true, false}) {
    const Open open = open_offers(tensors, keeps_floors);
    const auto answer = solve_knapsack(open.items, limit_bytes);
    if (!answer) continue;
    TypeChoice out{{}, answer->size, answer->cost, keeps_floors};
    for (size_t i = 0; i < tensors.size(); ++i) {
      out.offers.push_back(open.offers[i][answer->chosen[i]]);
    }
    return out;
  }
  return std::nullopt;
}

std::optional<double> cost_of(const std::vector<FreeTensor>& tensors,
                              const std::vector<const Codec*>& types) {
  double cost = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& offers = tensors[i].offers;
    const auto found = std::ranges::find(offers, types[i], &TypeOffer::codec);
    if (found == offers.end()) return std::nullopt;
    cost += tensors[i].sensitivity * found->error;
  }
  return cost;
}

std::string literal_glob(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool is_special = c == '*' || c == '?' || c == '[';
    out += is_special ? std::string{'[', c, ']'} : std::string(1, c);
  }
  return out;
}

}  // namespace ckpt
