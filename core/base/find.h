// Look-ups that return a pointer, which is null if nothing was found.
#pragma once

#include <algorithm>
#include <ranges>

namespace ckpt {

// Finds the value of `key` in a map.
template <class Map, class Key>
auto* find_mapped(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// Finds the first element of a list whose `member` equals `value`.
template <class List, class Member, class Value>
auto* find_by(List& list, Member member, const Value& value) {
  const auto found = std::ranges::find(list, value, member);
  return found == std::ranges::end(list) ? nullptr : &*found;
}

}  // namespace ckpt
