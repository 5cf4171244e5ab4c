// A place in a JSON document, as a person types it.
//
//   text_config.rope_theta     keys with dots between; numbers step into arrays
//   /a.b/c                     as JSON pointer, where a key has a dot in it
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

// The value at `path`; null if it is absent.
const JsonText* find_at(const JsonText& root, const JsonPath& path);

// A tree in which many places are found and edited, each in a time that does not depend on the
// number of keys. Nobody else may change the tree meanwhile; removed members leave it at the end.
class KeyedJson {
 public:
  explicit KeyedJson(JsonText& root) : root_(root) {}
  KeyedJson(const KeyedJson&) = delete;
  KeyedJson& operator=(const KeyedJson&) = delete;
  ~KeyedJson() { erase_removed(root_, keys_); }

  // The value at `path`; null if it is absent.
  const JsonText* find(const JsonPath& path);
  // Creates missing objects. False if a part of the path is not a container, or an item is absent.
  bool set(const JsonPath& path, JsonText value);
  enum class RemoveResult { kYes, kAbsent, kIsItem };  // an item of an array, which stays
  RemoveResult remove(const JsonPath& path);

 private:
  struct Keys {
    bool is_read = false;
    std::multimap<std::string, size_t, std::less<>> places;  // of an object's members
    std::set<size_t> removed;
    std::map<size_t, std::unique_ptr<Keys>> inside;  // of members and items, by place
  };
  struct Node {
    JsonText* json = nullptr;  // null: absent
    Keys* keys = nullptr;
  };
  static Node step(Node at, const std::string& key);
  static void append(Node at, const std::string& key, JsonText value);
  static void erase_removed(JsonText& json, Keys& keys);
  // The object or array that holds the last key of `path`.
  Node holder(const JsonPath& path, bool makes);

  JsonText& root_;
  Keys keys_;
};

}  // namespace ckpt
