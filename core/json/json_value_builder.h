// Builds values from the reader's events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json_reader.h"
#include "core/json/json_string.h"

namespace ckpt {

// Members of an object are sorted once, when it ends: inserting the 150,000 entries of a vocabulary
// one by one would need as many searches all over the memory.
class JsonValueBuilder final : public JsonSink {
 public:
  JsonValue take() { return std::move(values_.front()); }

  bool scalar(std::string_view spelling) override {
    values_.push_back(json_scalar(spelling));
    return true;
  }
  bool key(std::string_view spelling) override {
    keys_.push_back(json_unquoted(spelling));
    return true;
  }
  bool open(char bracket, size_t) override {
    open_.push_back({bracket == '{', values_.size(), keys_.size()});
    return true;
  }
  bool close(size_t) override {
    const Open start = open_.back();
    open_.pop_back();
    JsonValue made = start.is_object ? object_of(start) : array_of(start);
    values_.resize(start.first_value);
    values_.push_back(std::move(made));
    return true;
  }

 private:
  struct Open {
    bool is_object;
    size_t first_value, first_key;
  };
  // Sorts by key, and equal keys by their order in the text.
  struct SortKey {
    uint64_t first;  // the first bytes, which distinguish most keys without a lookup
    std::string* key;
    JsonValue* value;

    bool operator<(const SortKey& other) const {
      if (first != other.first) return first < other.first;
      const int compared = key->compare(*other.key);
      return compared != 0 ? compared < 0 : key < other.key;
    }
  };
  static uint64_t first_bytes(std::string_view key) {
    uint64_t out = 0;
    for (size_t i = 0; i < sizeof out; ++i) {
      out = out << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0u);
    }
    return out;
  }

  JsonValue array_of(const Open& start) {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(start.first_value);
    return JsonValue::array_t(std::make_move_iterator(first),
                              std::make_move_iterator(values_.end()));
  }

  JsonValue object_of(const Open& start) {
    std::vector<SortKey> order;
    order.reserve(keys_.size() - start.first_key);
    for (size_t at = start.first_key; at < keys_.size(); ++at) {
      order.push_back(
          {first_bytes(keys_[at]), &keys_[at], &values_[start.first_value + order.size()]});
    }
    std::sort(order.begin(), order.end());
    JsonValue::object_t out;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool is_last = i + 1 == order.size() || *order[i].key != *order[i + 1].key;
      if (!is_last) continue;  // the last of equal keys counts
      out.emplace_hint(out.end(), std::move(*order[i].key), std::move(*order[i].value));
    }
    keys_.resize(start.first_key);
    return out;
  }

  std::vector<JsonValue> values_;  // not yet put into an array or object
  std::vector<std::string> keys_;  // keys of members in values_
  std::vector<Open> open_;
};

}  // namespace ckpt
