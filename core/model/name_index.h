// Finds a name among many, and detects duplicates.
//
//   items      hash and index of the name; sorted by hash, then by name
//   buckets    the first item of every run of hashes with the same top bits
//
// Names come from files, and an attacker can choose names with equal hashes. Equal hashes are
// ordered by name, so finding a name always takes a logarithmic number of steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ckpt {

class NameIndex {
 public:
  NameIndex() = default;
  // The names must outlive the index and must not move. Requires: fewer than 2^32 names.
  explicit NameIndex(std::vector<std::string_view> names);

  size_t size() const { return names_.size(); }
  std::string_view name(uint32_t number) const { return names_[number]; }
  // The index of the first name that equals `name`.
  std::optional<uint32_t> find(std::string_view name) const;
  // The indices of the first name, in order, that occurs twice.
  std::optional<std::pair<uint32_t, uint32_t>> find_twice() const;

 private:
  struct Item {
    uint64_t hash;
    uint32_t number;
  };
  bool is_before(const Item& item, uint64_t hash, std::string_view name) const {
    return item.hash != hash ? item.hash < hash : names_[item.number] < name;
  }

  std::vector<std::string_view> names_;
  std::vector<Item> items_;
  std::vector<uint32_t> buckets_;
  unsigned shift_ = 63;
};

}  // namespace ckpt
