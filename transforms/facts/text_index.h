// Places of texts in a list: one flat table, for vocabularies and merges of hundreds of thousands.
// A hash map with nodes takes four times as long to fill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

class TextIndex {
 public:
  // `texts` must outlive this and stay as it is; fewer than 2^32.
  explicit TextIndex(const std::vector<std::string>& texts);

  // Of equal texts the first one's place.
  std::optional<uint32_t> find(std::string_view text) const;

 private:
  // The slot that holds `text`, or the free one where it would be.
  size_t slot_of(std::string_view text) const;

  const std::vector<std::string>* texts_;
  std::vector<uint32_t> slots_;  // a place plus one; 0 is free
};

}  // namespace ckpt
