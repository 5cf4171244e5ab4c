// Places of texts in a list: one flat table, for vocabularies and merges of hundreds of thousands.
// A hash map with nodes takes four times as long to fill.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ckpt {

class TextIndex {
 public:
  // The texts must outlive this and stay as they are; fewer than 2^32.
  explicit TextIndex(std::vector<std::string_view> texts);
  template <class Texts>
  explicit TextIndex(const Texts& texts)
      : TextIndex(std::vector<std::string_view>(texts.begin(), texts.end())) {}

  // Of equal texts the first one's place.
  std::optional<uint32_t> find(std::string_view text) const;

 private:
  // A part of the text's hash, so that other texts are rarely compared, and a place plus one.
  struct Slot {
    uint32_t hash = 0;
    uint32_t place = 0;  // 0: free
  };
  // The slot that holds `text`, or the free one where it would be.
  size_t slot_of(std::string_view text, uint64_t hash) const;

  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_;
};

}  // namespace ckpt
