// A place in a JSON document, in the notation that users type.
//
//   text_config.rope_theta     keys separated by dots; numbers index arrays
//   /a.b/c                     a JSON pointer, for keys that contain dots
//   weight_map.model.norm      all after weight_map is one key: in an index, the name of a tensor
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_edit.h"

namespace ckpt {

using JsonPath = std::vector<std::string>;

JsonPath json_path(std::string_view text);

// Returns the value at `path`; null if it is absent.
const JsonText* find_at(const JsonText& root, const JsonPath& path);

// A tree in which many places are found and edited, each in a time that does not depend on the
// number of keys. Nobody else may change the tree meanwhile; removed members are erased at the end.
class KeyedJson {
 public:
  explicit KeyedJson(JsonText& root) : root_(root) {}
  KeyedJson(const KeyedJson&) = delete;
  KeyedJson& operator=(const KeyedJson&) = delete;
  ~KeyedJson() { erase_removed(root_, keys_); }

  // Returns the value at `path`; null if it is absent.
  const JsonText* find(const JsonPath& path);
  // Creates missing objects. Returns false if a part of the path is a scalar, or an
  // item is absent.
  bool set(const JsonPath& path, JsonText value);
  enum class RemoveResult { kYes, kAbsent, kIsItem };  // kIsItem: an array's item, which is kept
  RemoveResult remove(const JsonPath& path);

 private:
  struct Keys {
    bool is_read = false;
    std::multimap<std::string, size_t, std::less<>> places;  // positions of an object's members
    std::set<size_t> removed;
    std::map<size_t, std::unique_ptr<Keys>> inside;  // of members and items, by position
  };
  struct Node {
    JsonText* json = nullptr;  // null if absent
    Keys* keys = nullptr;
  };
  static Node step(Node at, const std::string& key);
  static void append(Node at, const std::string& key, JsonText value);
  static void erase_removed(JsonText& json, Keys& keys);
  // Returns the object or array that contains the last key of `path`.
  Node holder(const JsonPath& path, bool makes);

  JsonText& root_;
  Keys keys_;
};

}  // namespace ckpt
