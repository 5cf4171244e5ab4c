#include "core/json/json_path.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/numbers.h"

namespace ckpt {

JsonPath json_path(std::string_view text) {
  const bool is_pointer = text.starts_with('/');
  if (is_pointer) text.remove_prefix(1);
  JsonPath path;
  for (;;) {
    const bool is_tensor = !is_pointer && path.size() == 1 && path[0] == "weight_map";
    const size_t end =
        is_tensor ? text.size() : std::min(text.find(is_pointer ? '/' : '.'), text.size());
    path.emplace_back(text.substr(0, end));
    if (end == text.size()) return path;
    text.remove_prefix(end + 1);
  }
}

const JsonText* find_at(const JsonText& root, const JsonPath& path) {
  const JsonText* at = &root;
  for (const std::string& key : path) {
    const auto index = at->is_array() ? number_from<size_t>(key) : std::nullopt;
    const bool is_item = index && *index < at->items().size();
    at = is_item ? &at->items()[*index] : at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

KeyedJson::Node KeyedJson::step(Node at, const std::string& key) {
  if (at.json->is_object() && !std::exchange(at.keys->is_read, true)) {
    for (size_t i = 0; i < at.json->members().size(); ++i) {
      at.keys->places.emplace(at.json->members()[i].first, i);
    }
  }
  const auto after = at.keys->places.upper_bound(key);
  const bool is_member = after != at.keys->places.begin() && std::prev(after)->first == key;
  const auto index = at.json->is_array() ? number_from<size_t>(key) : std::nullopt;
  const bool is_item = index && *index < at.json->items().size();
  if (!is_member && !is_item) return {};
  const size_t place = is_item ? *index : std::prev(after)->second;  // the last one, as in Python
  auto& keys = at.keys->inside[place];
  if (keys == nullptr) keys = std::make_unique<Keys>();
  return {is_item ? &at.json->items()[place] : &at.json->members()[place].second, keys.get()};
}

void KeyedJson::append(Node at, const std::string& key, JsonText value) {
  at.keys->places.emplace(key, at.json->members().size());
  at.json->members().emplace_back(key, std::move(value));
}

KeyedJson::Node KeyedJson::holder(const JsonPath& path, bool makes) {
  Node at{&root_, &keys_};
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    Node next = step(at, path[i]);
    if (next.json == nullptr && makes && at.json->is_object()) {
      append(at, path[i], JsonText::object());
      next = step(at, path[i]);
    }
    at = next;
    if (at.json == nullptr || !(at.json->is_object() || at.json->is_array())) return {};
  }
  return at;
}

const JsonText* KeyedJson::find(const JsonPath& path) {
  Node at{&root_, &keys_};
  for (size_t i = 0; i < path.size() && at.json != nullptr; ++i) at = step(at, path[i]);
  return at.json;
}

bool KeyedJson::set(const JsonPath& path, JsonText value) {
  const Node at = holder(path, true);
  if (at.json == nullptr) return false;
  const Node old = step(at, path.back());
  if (old.json != nullptr) {
    *old.json = std::move(value);
    *old.keys = {};
  } else if (at.json->is_object()) {
    append(at, path.back(), std::move(value));
  }
  return old.json != nullptr || at.json->is_object();
}

KeyedJson::RemoveResult KeyedJson::remove(const JsonPath& path) {
  const Node at = holder(path, false);
  if (at.json == nullptr) return RemoveResult::kAbsent;
  if (at.json->is_array()) return RemoveResult::kIsItem;
  if (step(at, path.back()).json == nullptr) return RemoveResult::kAbsent;
  const auto [first, last] = at.keys->places.equal_range(path.back());
  for (auto each = first; each != last; ++each) {
    at.keys->removed.insert(each->second);
    at.keys->inside.erase(each->second);
  }
  at.keys->places.erase(first, last);
  return RemoveResult::kYes;
}

void KeyedJson::erase_removed(JsonText& json, Keys& keys) {
  for (auto& [place, inside] : keys.inside) {
    erase_removed(json.is_array() ? json.items()[place] : json.members()[place].second, *inside);
  }
  size_t place = 0;
  std::erase_if(json.members(), [&](const auto&) { return keys.removed.contains(place++); });
}

}  // namespace ckpt
