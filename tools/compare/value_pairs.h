// Which tensors of two checkpoints are compared with each other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/value_chunks.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// Calls `both` with what is in both, by the text that `key` is; `alone` with the key of what is in
// one, and in which.
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
// The codec that the values of a tensor are stored in.
const Codec& codec_of(const Tensor& tensor);

struct PairedTensors {
  std::vector<ValuePair> values;  // of floats
  std::vector<ValuePair> bytes;   // of integers and types that are only copied
  struct UnpairedTensor {
    std::string tensor, why;
  };
  std::vector<UnpairedTensor> apart;  // cannot be compared
};
// By name, those like `glob`.
PairedTensors pair_tensors(const Checkpoint& a, const Checkpoint& b, const std::string& glob);

}  // namespace ckpt
