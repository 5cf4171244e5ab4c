#include "transforms/facts/byte_level_bpe.h"

namespace ckpt {
namespace {

bool encodes_itself(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

}  // namespace

std::string byte_letter(uint8_t byte) {
  uint32_t code = byte;
  if (!encodes_itself(byte)) {
    code = 256;
    for (uint32_t before = 0; before < byte; ++before) code += encodes_itself(before) ? 0u : 1u;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

ByteLevelBpe::ByteLevelBpe(const JsonValue& model, const TokenLists& lists,
                           const std::vector<std::string>& merges)
    : lists_(lists), ignores_merges_(is_truthy(known(model, "ignore_merges"))), ranks_(merges) {}

std::optional<uint64_t> ByteLevelBpe::id_of(std::string_view token) const {
  const TokenLists::Token* found = lists_.find(token);
  return found == nullptr ? std::nullopt : whole(lists_.id_value(*found));
}

void ByteLevelBpe::merge(std::vector<std::string>& symbols) const {
  while (symbols.size() > 1) {
    size_t best = symbols.size();
    uint32_t best_rank = UINT32_MAX;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rank = ranks_.find(symbols[i] + " " + symbols[i + 1]);
      if (!rank || *rank >= best_rank) continue;
      best = i;
      best_rank = *rank;
    }
    if (best == symbols.size()) return;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

bool ByteLevelBpe::encode(std::string_view piece, std::vector<uint64_t>& ids) const {
  std::vector<std::string> symbols;
  std::string all;
  for (const char c : piece) {
    symbols.push_back(byte_letter(static_cast<uint8_t>(c)));
    all += symbols.back();
  }
  const auto whole_piece = ignores_merges_ ? id_of(all) : std::nullopt;
  if (whole_piece) {
    ids.push_back(*whole_piece);
    return true;
  }
  merge(symbols);
  for (const std::string& symbol : symbols) {
    const auto id = id_of(symbol);
    if (!id) return false;
    ids.push_back(*id);
  }
  return true;
}

}  // namespace ckpt
