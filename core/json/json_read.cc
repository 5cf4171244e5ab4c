#include "core/json/json_read.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/json/json_reader.h"
#include "core/json/json_string.h"

namespace ckpt {
namespace {

// Members of an object are sorted once, when it ends: one by one, a vocabulary of 150,000 would be
// searched that often, all over the memory.
class ValueBuilder final : public JsonSink {
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
  // By key, equal ones by their order in the text.
  struct SortKey {
    uint64_t first;  // bytes of the key, which distinguish most keys without a lookup
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
      if (!is_last) continue;  // of equal keys the last one holds
      out.emplace_hint(out.end(), std::move(*order[i].key), std::move(*order[i].value));
    }
    keys_.resize(start.first_key);
    return out;
  }

  std::vector<JsonValue> values_;  // not yet in an array or object
  std::vector<std::string> keys_;  // of those in objects
  std::vector<Open> open_;
};

JsonValue number_value(std::string_view spelling) {
  const char* end = spelling.data() + spelling.size();
  const auto whole_as = [&](auto value) {
    const auto read = std::from_chars(spelling.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? JsonValue(value) : JsonValue();
  };
  JsonValue out = spelling[0] == '-' ? whole_as(int64_t{}) : whole_as(uint64_t{});
  if (!out.is_null()) return out;
  double value = 0;
  const auto read = std::from_chars(spelling.data(), end, value);
  if (read.ec == std::errc::result_out_of_range) {  // leaves `value` as it was
    value = std::strtod(std::string(spelling).c_str(), nullptr);
  }
  return value;
}

}  // namespace

JsonValue json_scalar(std::string_view spelling) {
  switch (spelling[0]) {
    case '"':
      return json_unquoted(spelling);
    case 'n':
      return nullptr;
    case 't':
      return true;
    case 'f':
      return false;
    case 'N':
      return std::numeric_limits<double>::quiet_NaN();
    case 'I':
      return std::numeric_limits<double>::infinity();
    default:
      if (spelling == "-Infinity") return -std::numeric_limits<double>::infinity();
      return number_value(spelling);
  }
}

Result<JsonValue> parse_json(std::string_view path, std::string_view text) {
  return parse_json_piece(path, text, text);
}

Result<JsonValue> parse_json_piece(std::string_view path, std::string_view text,
                                   std::string_view whole) {
  ValueBuilder builder;
  if (const auto fault = read_json_events(text, &builder)) {
    return in(path, Result<JsonValue>(not_json(*fault, text, whole)));
  }
  return builder.take();
}

const JsonValue* member(const JsonValue& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nullptr : &*found;
}

const JsonValue* known(const JsonValue& json, std::string_view key) {
  const JsonValue* found = member(json, key);
  return found != nullptr && found->is_null() ? nullptr : found;
}

const std::string* text_of(const JsonValue& json, std::string_view key) {
  const JsonValue* found = member(json, key);
  return found == nullptr ? nullptr : found->get_ptr<const std::string*>();
}

std::optional<uint64_t> whole(const JsonValue& json) {
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double value = json.get<double>();
  if (value < 0 || value >= 0x1p63 || value != std::floor(value)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::optional<double> number(const JsonValue& json) {
  if (!json.is_number()) return std::nullopt;
  return json.get<double>();
}

bool is_truthy(const JsonValue* json) {
  if (json == nullptr || json->is_null()) return false;
  if (json->is_boolean()) return json->get<bool>();
  if (json->is_number()) return json->get<double>() != 0;
  if (const auto* text = json->get_ptr<const std::string*>()) return !text->empty();
  return !json->empty();
}

}  // namespace ckpt
