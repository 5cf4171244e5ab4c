#include "core/base/text_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "core/base/result.h"

namespace ckpt {
namespace {

uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }
uint32_t upper_half(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

TextIndex::TextIndex(std::vector<std::string_view> texts)
    : texts_(std::move(texts)), slots_(std::bit_ceil(2 * texts_.size() + 2)) {
  std::array<uint64_t, kAtOnce> hashes;
  for (size_t start = 0; start < texts_.size(); start += kAtOnce) {
    const size_t count = std::min(kAtOnce, texts_.size() - start);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(texts_[start + i]);
      __builtin_prefetch(&slots_[hashes[i] & (slots_.size() - 1)]);
    }
    for (size_t i = 0; i < count; ++i) {
      Slot& slot = slots_[slot_of(texts_[start + i], hashes[i])];
      if (slot.place != 0) continue;
      slot = {upper_half(hashes[i]), static_cast<uint32_t>(start + i + 1)};
      ++distinct_;
    }
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

void TextIndex::find_all(std::span<const std::string_view> texts,
                         std::span<uint32_t> places) const {
  CKPT_CHECK(texts.size() <= kAtOnce && places.size() == texts.size());
  std::array<uint64_t, kAtOnce> hashes;
  for (size_t i = 0; i < texts.size(); ++i) {
    hashes[i] = hash_of(texts[i]);
    __builtin_prefetch(&slots_[hashes[i] & (slots_.size() - 1)]);
  }
  const auto first_slot = [&](size_t i) { return slots_[hashes[i] & (slots_.size() - 1)].place; };
  for (size_t i = 0; i < texts.size(); ++i) {
    if (first_slot(i) != 0) __builtin_prefetch(&texts_[first_slot(i) - 1]);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (first_slot(i) != 0) __builtin_prefetch(texts_[first_slot(i) - 1].data());
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    places[i] = slots_[slot_of(texts[i], hashes[i])].place - 1;  // 0, a free slot: kNone
  }
}

}  // namespace ckpt
