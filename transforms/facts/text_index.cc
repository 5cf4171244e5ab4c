#include "transforms/facts/text_index.h"

#include <bit>

namespace ckpt {

TextIndex::TextIndex(const std::vector<std::string>& texts)
    : texts_(&texts), slots_(std::bit_ceil(2 * texts.size() + 2)) {
  for (size_t i = 0; i < texts.size(); ++i) {
    uint32_t& slot = slots_[slot_of(texts[i])];
    if (slot == 0) slot = static_cast<uint32_t>(i + 1);
  }
}

size_t TextIndex::slot_of(std::string_view text) const {
  size_t at = std::hash<std::string_view>()(text) & (slots_.size() - 1);
  while (slots_[at] != 0 && (*texts_)[slots_[at] - 1] != text) at = (at + 1) & (slots_.size() - 1);
  return at;
}

std::optional<uint32_t> TextIndex::find(std::string_view text) const {
  const uint32_t found = slots_[slot_of(text)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

}  // namespace ckpt
