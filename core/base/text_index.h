// Finds positions of texts in a list with one flat table, for vocabularies and merges with hundreds
// of thousands of entries. Filling a hash map with nodes takes four times as long.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ckpt {

class TextIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  TextIndex() = default;
  // The texts must outlive this object and must not change. Requires: fewer than 2^32 texts.
  explicit TextIndex(std::vector<std::string_view> texts);
  template <class Texts>
  explicit TextIndex(const Texts& texts)
      : TextIndex(std::vector<std::string_view>(texts.begin(), texts.end())) {}

  // The position of the first equal text.
  std::optional<uint32_t> find(std::string_view text) const;
  // Stores the positions of up to kAtOnce texts, and kNone for missing ones. Prefetching makes this
  // several times as fast as single calls.
  static constexpr size_t kAtOnce = 32;
  void find_all(std::span<const std::string_view> texts, std::span<uint32_t> places) const;
  size_t distinct() const { return distinct_; }

 private:
  // A part of the text's hash, so that other texts are rarely compared, and the position plus one.
  struct Slot {
    uint32_t hash = 0;
    uint32_t place = 0;  // 0: a free slot
  };
  // The slot that contains `text`, or the free slot where it would be.
  size_t slot_of(std::string_view text, uint64_t hash) const;

  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_ = std::vector<Slot>(1);
  size_t distinct_ = 0;
};

}  // namespace ckpt
