#include "core/model/name_index.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/base/result.h"

namespace ckpt {

NameIndex::NameIndex(std::vector<std::string_view> names) : names_(std::move(names)) {
  CKPT_CHECK(names_.size() < UINT32_MAX);
  items_.reserve(names_.size());
  for (uint32_t i = 0; i < names_.size(); ++i) {
    items_.push_back({std::hash<std::string_view>()(names_[i]), i});
  }
  std::ranges::sort(items_, [this](const Item& a, const Item& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int order = names_[a.number].compare(names_[b.number]);
    return order != 0 ? order < 0 : a.number < b.number;
  });
  // Use about four names per bucket.
  const auto bits = static_cast<unsigned>(std::bit_width(names_.size() / 4)) + 1;
  shift_ = 64 - bits;
  buckets_.assign((size_t{1} << bits) + 1, 0);
  for (const Item& item : items_) ++buckets_[(item.hash >> shift_) + 1];
  for (size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
}

std::optional<uint32_t> NameIndex::find(std::string_view name) const {
  if (items_.empty()) return std::nullopt;
  const uint64_t hash = std::hash<std::string_view>()(name);
  const size_t bucket = hash >> shift_;
  const auto end = items_.begin() + buckets_[bucket + 1];
  const auto at =
      std::partition_point(items_.begin() + buckets_[bucket], end,
                           [&](const Item& item) { return is_before(item, hash, name); });
  if (at == end || at->hash != hash || names_[at->number] != name) return std::nullopt;
  return at->number;
}

std::optional<std::pair<uint32_t, uint32_t>> NameIndex::find_twice() const {
  std::optional<std::pair<uint32_t, uint32_t>> found;
  for (size_t i = 1; i < items_.size(); ++i) {
    const Item &a = items_[i - 1], &b = items_[i];
    if (a.hash != b.hash || names_[a.number] != names_[b.number]) continue;
    if (!found || b.number < found->second) found = {a.number, b.number};
  }
  return found;
}

}  // namespace ckpt
