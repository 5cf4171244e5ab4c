// Shortens lists of similar tensor names to one line.
//
//   blk.0.attn_q.weight, blk.0.attn_k.weight, blk.1.attn_q.weight, blk.1.attn_k.weight
//     ─▶ blk.{0,1}.attn_{k,q}.weight
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ckpt {

// Groups names; alternatives are in order of first appearance.
std::string grouped_names(const std::vector<std::string>& names);

// Groups items by a key, in the order in which keys first appear.
template <class Group>
class Groups {
 public:
  Group& of(const std::string& key) {
    const auto [place, is_new] = places_.try_emplace(key, groups_.size());
    if (is_new) groups_.emplace_back(key, Group());
    return groups_[place->second].second;
  }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }
  size_t size() const { return groups_.size(); }

 private:
  std::vector<std::pair<std::string, Group>> groups_;
  std::map<std::string, size_t> places_;
};

}  // namespace ckpt
