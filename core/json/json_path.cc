#include "core/json/json_path.h"

#include <algorithm>

#include "core/base/numbers.h"

namespace ckpt {

JsonPath json_path(std::string_view text) {
  const bool is_pointer = text.starts_with('/');
  if (is_pointer) text.remove_prefix(1);
  JsonPath path;
  for (;;) {
    const size_t end = std::min(text.find(is_pointer ? '/' : '.'), text.size());
    path.emplace_back(text.substr(0, end));
    if (end == text.size()) return path;
    text.remove_prefix(end + 1);
  }
}

JsonText* item_at(JsonText& array, const std::string& key) {
  const auto index = number_from<size_t>(key);
  return index && *index < array.items().size() ? &array.items()[*index] : nullptr;
}

const JsonText* find_at(const JsonText& root, const JsonPath& path) {
  const JsonText* at = &root;
  for (const std::string& key : path) {
    at = at->is_array() ? item_at(const_cast<JsonText&>(*at), key) : at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

JsonText* holder_at(JsonText& root, const JsonPath& path, bool make) {
  JsonText* at = &root;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    JsonText* next = at->is_array() ? item_at(*at, path[i]) : at->find(path[i]);
    if (next == nullptr && make && at->is_object()) {
      at->set(path[i], JsonText::object());
      next = at->find(path[i]);
    }
    if (next == nullptr || !(next->is_object() || next->is_array())) return nullptr;
    at = next;
  }
  return at;
}

}  // namespace ckpt
