// A set of byte ranges. Adjacent ranges are joined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace ckpt {

class RangeSet {
 public:
  // Requires: first + size fits 64 bits, also in the functions below.
  void add(uint64_t first, uint64_t size) {
    if (size == 0) return;
    uint64_t end = first + size;
    auto next = runs_.upper_bound(first);
    if (next != runs_.begin() && std::prev(next)->second >= first) --next;
    while (next != runs_.end() && next->first <= end) {
      first = std::min(first, next->first);
      end = std::max(end, next->second);
      next = runs_.erase(next);
    }
    runs_.emplace(first, end);
  }
  bool contains(uint64_t first, uint64_t size) const {
    if (size == 0) return true;
    const auto next = runs_.upper_bound(first);
    return next != runs_.begin() && std::prev(next)->second >= first + size;
  }
  bool empty() const { return runs_.empty(); }
  void clear() { runs_.clear(); }
  const std::map<uint64_t, uint64_t>& runs() const { return runs_; }  // (first, end)
  uint64_t size() const {
    uint64_t out = 0;
    for (const auto& [first, end] : runs_) out += end - first;
    return out;
  }

 private:
  std::map<uint64_t, uint64_t> runs_;
};

}  // namespace ckpt
