#include "tools/compare/document_keys.h"

#include <fmt/format.h>

#include "core/json/json_edit.h"

namespace ckpt {
namespace {

constexpr size_t kLongestValue = 60;

std::string value_words(const JsonText& value) {
  if (value.is_object()) return fmt::format("an object of {}", value.members().size());
  std::string text = value.dump(0);
  if (text.size() <= kLongestValue) return text;
  return value.is_array() ? fmt::format("{} items", value.items().size()) : "another text";
}

class KeyComparison {
 public:
  void compare(const JsonText& a, const JsonText& b, const std::string& place) {
    for (const auto& [key, value] : a.members()) {
      const JsonText* other = b.find(key);
      if (other == nullptr) {
        add(place + key, "only in A");
      } else if (value.is_object() && other->is_object()) {
        compare(value, *other, place + key + ".");
      } else if (!(value == *other)) {
        add(place + key, changed(value, *other));
      }
    }
    for (const auto& [key, value] : b.members()) {
      if (a.find(key) == nullptr) add(place + key, "only in B");
    }
  }

  std::vector<std::string> found() && { return std::move(found_); }

 private:
  static std::string changed(const JsonText& a, const JsonText& b) {
    const std::string before = value_words(a), after = value_words(b);
    return before == after ? "differs" : fmt::format("{} -> {}", before, after);
  }
  void add(const std::string& key, std::string_view what) {
    found_.push_back(fmt::format("{}: {}", key, what));
  }

  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> differing_keys(const Document& a, const Document& b) {
  const auto left = JsonText::parse(a.text()), right = JsonText::parse(b.text());
  if (!left || !right || !left->is_object() || !right->is_object()) return {};
  KeyComparison comparison;
  comparison.compare(*left, *right, "");
  std::vector<std::string> found = std::move(comparison).found();
  if (found.empty()) found.emplace_back("the same members, written differently");
  return found;
}

}  // namespace ckpt
