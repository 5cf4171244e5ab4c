// Lists of rows that tables of families and of GGUF architectures hold.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "core/base/result.h"

namespace ckpt {

// A few values, which their family holds itself.
template <class Value, size_t kMost>
class StaticVector {
 public:
  constexpr StaticVector() = default;
  constexpr StaticVector(std::initializer_list<Value> values) : count_(values.size()) {
    CKPT_CHECK(count_ <= kMost);
    std::ranges::copy(values, values_.begin());
  }
  constexpr const Value* begin() const { return values_.data(); }
  constexpr const Value* end() const { return values_.data() + count_; }
  constexpr bool empty() const { return count_ == 0; }

 private:
  std::array<Value, kMost> values_ = {};
  size_t count_ = 0;
};
// A family's own rows and those that it shares, in the order in which they are asked.
template <class Row>
using RowLists = StaticVector<std::span<const Row>, 9>;

}  // namespace ckpt
