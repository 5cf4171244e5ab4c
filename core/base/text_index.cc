#include "core/base/text_index.h"

#include <bit>
#include <functional>

namespace ckpt {
namespace {

uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }
uint32_t upper_half(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

TextIndex::TextIndex(std::vector<std::string_view> texts)
    : texts_(std::move(texts)), slots_(std::bit_ceil(2 * texts_.size() + 2)) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    const uint64_t hash = hash_of(texts_[i]);
    Slot& slot = slots_[slot_of(texts_[i], hash)];
    if (slot.place == 0) slot = {upper_half(hash), static_cast<uint32_t>(i + 1)};
  }
}

size_t TextIndex::slot_of(std::string_view text, uint64_t hash) const {
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].place != 0) {
    const bool may_be = slots_[at].hash == upper_half(hash);
    if (may_be && texts_[slots_[at].place - 1] == text) break;
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

std::optional<uint32_t> TextIndex::find(std::string_view text) const {
  const uint32_t place = slots_[slot_of(text, hash_of(text))].place;
  return place == 0 ? std::nullopt : std::optional(place - 1);
}

}  // namespace ckpt
