// Pairs the tensors of two checkpoints that are compared with each other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/value_chunks.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Matches items by their member `key`. Calls `both` for items in both lists and `alone` for items
// in one, with the key and which list it is.
template <class Item, class Both, class Alone>
void pair_up(const std::vector<Item>& a, const std::vector<Item>& b, std::string Item::*key,
             const Both& both, const Alone& alone) {
  std::map<std::string_view, const Item*> of_b;
  std::set<std::string_view> of_a;
  for (const Item& item : b) of_b.emplace(item.*key, &item);
  for (const Item& item : a) {
    of_a.insert(item.*key);
    const auto found = of_b.find(item.*key);
    if (found == of_b.end()) {
      alone(item.*key, "only in A");
    } else {
      both(item, *found->second);
    }
  }
  for (const Item& item : b) {
    if (!of_a.contains(item.*key)) alone(item.*key, "only in B");
  }
}

std::string shape_of(const Tensor& tensor);  // "[2,3]"
// The codec of the tensor's values.
const Codec& codec_of(const Tensor& tensor);

struct PairedTensors {
  std::vector<ValuePair> values;  // pairs of float tensors
  std::vector<ValuePair> bytes;   // pairs of integers and of types that are only copied
  struct UnpairedTensor {
    std::string tensor, why;
  };
  std::vector<UnpairedTensor> apart;  // tensors that cannot be compared
};
// Pairs tensors whose names match `glob` by name.
PairedTensors pair_tensors(const Checkpoint& a, const Checkpoint& b, const std::string& glob);

}  // namespace ckpt
