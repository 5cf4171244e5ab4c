// Chooses one type for each item under a limit of bytes. A price per byte, found by bisection,
// gives a first answer and a lower bound; swaps improve the answer, and a bounded depth-first
// search looks for a better one.
#include <algorithm>

#include "plan/size_target/choice.h"

namespace ckpt {
namespace {

constexpr int kPriceSteps = 200;                   // halvings: enough for a double
constexpr uint64_t kImprovingRounds = 2000;        // each round lowers the cost
constexpr uint64_t kImprovingSteps = 100'000'000;  // choices tried in all rounds together
constexpr uint64_t kSearchNodes = 300'000;         // takes a fraction of a second
constexpr size_t kSearchItems = 10'000;            // the depth of the search is the number of items

using Items = std::vector<KnapsackItem>;
using Chosen = std::vector<uint32_t>;

KnapsackAnswer sum_up(const Items& items, Chosen chosen) {
  KnapsackAnswer out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].empty()) continue;
    out.size += items[i][chosen[i]].size;
    out.cost += items[i][chosen[i]].cost;
  }
  out.chosen = std::move(chosen);
  return out;
}

double priced(const KnapsackChoice& choice, double price) {
  return choice.cost + price * static_cast<double>(choice.size);
}

// The best choice of each item; the first among equals.
template <class IsBetter>
Chosen choose(const Items& items, const IsBetter& is_better) {
  Chosen out(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    for (uint32_t k = 1; k < items[i].size(); ++k) {
      if (is_better(items[i][k], items[i][out[i]])) out[i] = k;
    }
  }
  return out;
}

// The choice of each item if a byte costs `price`; the smaller among equals.
Chosen choose_at(const Items& items, double price) {
  return choose(items, [price](const KnapsackChoice& one, const KnapsackChoice& other) {
    const double a = priced(one, price), b = priced(other, price);
    return a < b || (a == b && one.size < other.size);
  });
}

Chosen smallest_of(const Items& items) {
  return choose(items, [](const KnapsackChoice& one, const KnapsackChoice& other) {
    return std::pair(one.size, one.cost) < std::pair(other.size, other.cost);
  });
}

struct PricedAnswer {
  double price;
  KnapsackAnswer answer;
};

// The lowest price at which everything fits. Requires: the smallest choices fit.
PricedAnswer find_price(const Items& items, uint64_t limit) {
  KnapsackAnswer free = sum_up(items, choose_at(items, 0));
  if (free.size <= limit) return {0, std::move(free)};
  double low = 0, high = 1e-30;
  KnapsackAnswer best = sum_up(items, smallest_of(items));
  for (int i = 0; i < kPriceSteps; ++i) {
    KnapsackAnswer tried = sum_up(items, choose_at(items, high));
    if (tried.size <= limit) {
      best = std::move(tried);
      break;
    }
    low = high;
    high *= 4;
  }
  for (int i = 0; i < kPriceSteps && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    KnapsackAnswer tried = sum_up(items, choose_at(items, middle));
    if (tried.size <= limit) {
      high = middle;
      best = std::move(tried);
    } else {
      low = middle;
    }
  }
  return {high, std::move(best)};
}

// A change of one item's choice: the bytes it frees and the cost it adds (each may be negative).
struct TypeChange {
  uint32_t item, choice;
  int64_t freed;
  double lost;
};

class Improver {
 public:
  Improver(const Items& items, uint64_t limit, KnapsackAnswer& answer)
      : items_(items), limit_(limit), answer_(answer) {}

  void run() {
    uint64_t choices = 1;
    for (const KnapsackItem& item : items_) choices += item.size();
    const uint64_t rounds = std::min(kImprovingRounds, kImprovingSteps / choices);
    for (uint64_t round = 0; round < rounds; ++round) {
      if (!improve_one() && !exchange_two()) return;
    }
  }

 private:
  TypeChange change(uint32_t item, uint32_t choice) const {
    const KnapsackChoice &now = items_[item][answer_.chosen[item]], &then = items_[item][choice];
    return {item, choice, static_cast<int64_t>(now.size) - static_cast<int64_t>(then.size),
            then.cost - now.cost};
  }
  std::vector<TypeChange> changes() const {
    std::vector<TypeChange> out;
    for (uint32_t i = 0; i < items_.size(); ++i) {
      for (uint32_t k = 0; k < items_[i].size(); ++k) {
        if (k != answer_.chosen[i]) out.push_back(change(i, k));
      }
    }
    return out;
  }
  void make(const TypeChange& change) {
    answer_.chosen[change.item] = change.choice;
    answer_ = sum_up(items_, std::move(answer_.chosen));
  }
  int64_t slack() const { return static_cast<int64_t>(limit_ - answer_.size); }

  bool improve_one() {
    const TypeChange* best = nullptr;
    const std::vector<TypeChange> all = changes();
    for (const TypeChange& one : all) {
      if (-one.freed <= slack() && one.lost < (best == nullptr ? 0 : best->lost)) best = &one;
    }
    if (best == nullptr) return false;
    make(*best);
    return true;
  }

  // Makes one item smaller if another can use the room and gains more than the first loses.
  bool exchange_two() {
    std::vector<TypeChange> smaller, better;
    for (const TypeChange& one : changes()) {
      if (one.freed > 0) smaller.push_back(one);
      if (one.lost < 0) better.push_back(one);
    }
    std::ranges::stable_sort(better, std::greater<>(), &TypeChange::freed);
    // The two best changes of different items among the first n; one may be the smaller item's.
    struct BestTwo {
      const TypeChange *first = nullptr, *second = nullptr;
    };
    std::vector<BestTwo> best_of(better.size() + 1);
    for (size_t i = 0; i < better.size(); ++i) {
      BestTwo two = best_of[i];
      const TypeChange* one = &better[i];
      if (two.first == nullptr || one->lost < two.first->lost) {
        if (two.first != nullptr && two.first->item != one->item) two.second = two.first;
        two.first = one;
      } else if (one->item != two.first->item &&
                 (two.second == nullptr || one->lost < two.second->lost)) {
        two.second = one;
      }
      best_of[i + 1] = two;
    }
    TypeChange give{}, take{};
    double gain = -1e-12 * answer_.cost;  // a smaller gain may be a rounding error
    bool found = false;
    for (const TypeChange& one : smaller) {
      const int64_t room = slack() + one.freed;
      const auto end =
          std::partition_point(better.begin(), better.end(),
                               [&](const TypeChange& each) { return -each.freed <= room; });
      const BestTwo& two = best_of[static_cast<size_t>(end - better.begin())];
      const TypeChange* other =
          two.first != nullptr && two.first->item == one.item ? two.second : two.first;
      if (other == nullptr || one.lost + other->lost >= gain) continue;
      gain = one.lost + other->lost;
      give = one;
      take = *other;
      found = true;
    }
    if (!found) return false;
    answer_.chosen[give.item] = give.choice;
    make(take);
    return true;
  }

  const Items& items_;
  uint64_t limit_;
  KnapsackAnswer& answer_;
};

// Searches choices that the price leaves open: those whose cost above the bound is lower than that
// of the best answer so far. Depth first, beginning with the items that have most to decide.
class Search {
 public:
  Search(const Items& items, uint64_t limit, double price, KnapsackAnswer& answer)
      : items_(items), limit_(limit), price_(price), answer_(answer) {
    const Chosen base = choose_at(items, price);
    bound_ = -price * static_cast<double>(limit);
    for (size_t i = 0; i < items.size(); ++i) {
      if (!items[i].empty()) bound_ += priced(items[i][base[i]], price);
    }
    for (uint32_t i = 0; i < items.size(); ++i) add_item(i, base[i]);
    std::ranges::stable_sort(
        open_, [](const Open& a, const Open& b) { return a.choices.size() > b.choices.size(); });
    least_after_.resize(open_.size() + 1);
    for (size_t i = open_.size(); i-- > 0;) {
      uint64_t least = UINT64_MAX;
      for (const auto& [choice, above] : open_[i].choices) {
        least = std::min(least, items[open_[i].item][choice].size);
      }
      least_after_[i] = least_after_[i + 1] + least;
    }
  }

  void run() {
    Chosen chosen = answer_.chosen;
    uint64_t size = 0;
    double above = 0;
    for (const Open& one : settled_) {
      chosen[one.item] = one.choices[0].first;
      size += items_[one.item][chosen[one.item]].size;
      above += one.choices[0].second;
    }
    if (open_.size() <= kSearchItems) visit(0, size, above, chosen);
    answer_.is_exact = open_.size() <= kSearchItems && nodes_ < kSearchNodes;
  }

 private:
  struct Open {
    uint32_t item;
    std::vector<std::pair<uint32_t, double>> choices;  // with the cost above the bound, ascending
  };

  void add_item(uint32_t item, uint32_t base) {
    if (items_[item].empty()) return;
    Open open{item, {}};
    const double least = priced(items_[item][base], price_);
    for (uint32_t k = 0; k < items_[item].size(); ++k) {
      const double above = priced(items_[item][k], price_) - least;
      if (bound_ + above <= answer_.cost) open.choices.emplace_back(k, std::max(0.0, above));
    }
    if (open.choices.empty()) open.choices.emplace_back(base, 0.0);
    std::ranges::stable_sort(open.choices,
                             [](const auto& a, const auto& b) { return a.second < b.second; });
    (open.choices.size() == 1 ? settled_ : open_).push_back(std::move(open));
  }

  void visit(size_t depth, uint64_t size, double above, Chosen& chosen) {
    if (nodes_ >= kSearchNodes) return;
    ++nodes_;
    if (depth == open_.size()) {
      KnapsackAnswer found = sum_up(items_, chosen);
      if (found.size <= limit_ && found.cost < answer_.cost) answer_ = std::move(found);
      return;
    }
    for (const auto& [choice, more] : open_[depth].choices) {
      if (bound_ + above + more >= answer_.cost) return;
      const uint64_t then = size + items_[open_[depth].item][choice].size;
      if (then + least_after_[depth + 1] > limit_) continue;
      chosen[open_[depth].item] = choice;
      visit(depth + 1, then, above + more, chosen);
    }
  }

  const Items& items_;
  uint64_t limit_;
  double price_, bound_ = 0;
  KnapsackAnswer& answer_;
  std::vector<Open> open_, settled_;
  std::vector<uint64_t> least_after_;
  uint64_t nodes_ = 0;
};

}  // namespace

std::optional<KnapsackAnswer> solve_knapsack(const Items& items, uint64_t limit) {
  if (sum_up(items, smallest_of(items)).size > limit) return std::nullopt;
  PricedAnswer start = find_price(items, limit);
  KnapsackAnswer answer = std::move(start.answer);
  Improver(items, limit, answer).run();
  Search(items, limit, start.price, answer).run();
  return answer;
}

}  // namespace ckpt
