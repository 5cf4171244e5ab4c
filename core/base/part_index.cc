#include "core/base/part_index.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "core/base/result.h"

namespace ckpt {

PartIndex::PartIndex(const std::vector<std::string_view>& texts) {
  CKPT_CHECK(texts.size() < kNone);
  build(texts);
  for (uint32_t node = 0; node < nodes_.size(); ++node) link(node);
}

// Builds the trie level by level, so that the children of a node are adjacent.
void PartIndex::build(const std::vector<std::string_view>& texts) {
  std::vector<uint32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return texts[a] < texts[b]; });
  struct Range {
    size_t begin, end;  // range in `order` of the texts that begin with the node's text
  };
  std::vector<Range> level = {{0, order.size()}}, next;
  nodes_.emplace_back();
  uint32_t node = 0;
  for (size_t depth = 0; !level.empty(); ++depth, level.swap(next)) {
    next.clear();
    for (auto [begin, end] : level) {
      const uint32_t parent = node++;
      if (begin < end && texts[order[begin]].size() == depth) {
        nodes_[parent].text = order[begin];
        while (begin < end && texts[order[begin]].size() == depth) ++begin;
      }
      nodes_[parent].children = static_cast<uint32_t>(nodes_.size());
      while (begin < end) {
        const char byte = texts[order[begin]][depth];
        const auto last = std::partition_point(
            order.begin() + static_cast<ptrdiff_t>(begin),
            order.begin() + static_cast<ptrdiff_t>(end), [&](uint32_t text) {
              return static_cast<uint8_t>(texts[text][depth]) <= static_cast<uint8_t>(byte);
            });
        const auto stop = static_cast<size_t>(last - order.begin());
        CKPT_CHECK(nodes_.size() < kNone);
        nodes_.emplace_back().byte = static_cast<uint8_t>(byte);
        ++nodes_[parent].child_count;
        next.push_back({begin, stop});
        begin = stop;
      }
    }
  }
}

// Sets the fallbacks of the children. Requires the fallbacks of the node and of all shorter ones.
void PartIndex::link(uint32_t parent) {
  Node& node = nodes_[parent];
  node.ending = node.text != kNone ? parent : parent == 0 ? kNone : nodes_[node.fallback].ending;
  for (uint32_t i = 0; i < node.child_count; ++i) {
    Node& child = nodes_[node.children + i];
    child.fallback = parent == 0 ? 0 : step(node.fallback, static_cast<char>(child.byte));
  }
}

uint32_t PartIndex::child(uint32_t node, char byte) const {
  const auto begin = nodes_.begin() + nodes_[node].children;
  const auto end = begin + nodes_[node].child_count;
  const auto wanted = static_cast<uint8_t>(byte);
  const auto at =
      std::partition_point(begin, end, [&](const Node& one) { return one.byte < wanted; });
  return at == end || at->byte != wanted ? kNone : static_cast<uint32_t>(at - nodes_.begin());
}

// Returns the node after reading `byte`.
uint32_t PartIndex::step(uint32_t node, char byte) const {
  for (;;) {
    const uint32_t found = child(node, byte);
    if (found != kNone) return found;
    if (node == 0) return 0;
    node = nodes_[node].fallback;
  }
}

std::optional<uint32_t> PartIndex::find(std::string_view name) const {
  uint32_t node = 0;
  for (const char byte : name) {
    node = child(node, byte);
    if (node == kNone) return std::nullopt;
  }
  const uint32_t text = nodes_[node].text;
  return text == kNone ? std::nullopt : std::optional(text);
}

bool PartIndex::has_parent_of(std::string_view name) const {
  uint32_t node = 0;
  for (const char byte : name) {
    if (byte == '.' && nodes_[node].text != kNone) return true;
    node = child(node, byte);
    if (node == kNone) return false;
  }
  return nodes_[node].text != kNone;
}

bool PartIndex::has_part_of(std::string_view name) const {
  uint32_t node = 0;
  for (const char byte : name) {
    if (nodes_[node].ending != kNone) return true;
    node = step(node, byte);
  }
  return nodes_[node].ending != kNone;
}

std::vector<uint32_t> PartIndex::parts_of(std::string_view name) const {
  std::vector<uint32_t> out;
  std::unordered_set<uint32_t> seen;  // nodes; the fallbacks of a seen node are seen too
  uint32_t node = 0;
  for (const char byte : name) {
    node = step(node, byte);
    for (uint32_t end = nodes_[node].ending; end != kNone && end != 0;
         end = nodes_[nodes_[end].fallback].ending) {
      if (!seen.insert(end).second) break;
      out.push_back(nodes_[end].text);
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace ckpt
