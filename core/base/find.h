// Look-ups of what may be absent: they give a pointer, null then.
#pragma once

#include <algorithm>
#include <ranges>

namespace ckpt {

// The value of `key` in a map.
template <class Map, class Key>
auto* find_mapped(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The first element of a list whose `member` is `value`.
template <class List, class Member, class Value>
auto* find_by(List& list, Member member, const Value& value) {
  const auto found = std::ranges::find(list, value, member);
  return found == std::ranges::end(list) ? nullptr : &*found;
}

}  // namespace ckpt
