// Finds which of many texts occur in a name: a trie with links to the longest proper suffix that is
// also in the trie (A. Aho, M. Corasick, Efficient string matching, 1975).
//
//   nodes   children of a node are adjacent, ordered by byte; the root is node 0
//
// Texts and names come from files; walking a name takes one or two steps per byte, whatever the
// texts are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ckpt {

class PartIndex {
 public:
  PartIndex() : PartIndex(std::vector<std::string_view>()) {}
  // If texts are equal, the first one counts. The texts are not needed afterwards.
  explicit PartIndex(const std::vector<std::string_view>& texts);

  // The index of the text that equals `name`.
  std::optional<uint32_t> find(std::string_view name) const;
  // Whether some text equals `name` or the part of it before one of its dots.
  bool has_parent_of(std::string_view name) const;
  // Whether some text occurs anywhere in `name`. The empty text occurs in every name.
  bool has_part_of(std::string_view name) const;
  // The indices of all non-empty texts that occur in `name`, without duplicates, ascending.
  std::vector<uint32_t> parts_of(std::string_view name) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    uint32_t children = 0;    // first child
    uint32_t fallback = 0;    // longest proper suffix that is a node
    uint32_t ending = kNone;  // the node itself or its nearest fallback where a text ends
    uint32_t text = kNone;    // index of the text that ends here
    uint16_t child_count = 0;
    uint8_t byte = 0;
  };

  void build(const std::vector<std::string_view>& texts);
  void link(uint32_t parent);
  uint32_t child(uint32_t node, char byte) const;
  uint32_t step(uint32_t node, char byte) const;

  std::vector<Node> nodes_;
};

}  // namespace ckpt
