// Byte-level BPE: a piece of text becomes ids by joining neighbors, best merge first.
//
//   bytes -> letters (printable ones stand for themselves, the others for U+0100 and on)
//   "low" -> l o w -> lo w -> low                    merges in order of rank: "l o", "lo w"
//
// Of equal pairs the leftmost is joined first; a tokenizer that ignores merges takes a piece whole
// when the vocabulary has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text_index.h"
#include "core/json/json_read.h"
#include "core/model/token_lists.h"

namespace ckpt {

class ByteLevelBpe {
 public:
  // `model` is the "model" of a tokenizer.json without what `lists` hold; merges are "left right".
  // Lists and merges must outlive this.
  ByteLevelBpe(const JsonValue& model, const TokenLists& lists,
               const std::vector<std::string>& merges);

  // Appends the ids of `piece`. False when the vocabulary lacks what is left after merging.
  bool encode(std::string_view piece, std::vector<uint64_t>& ids) const;

 private:
  std::optional<uint64_t> id_of(std::string_view token) const;
  void merge(std::vector<std::string>& symbols) const;

  const TokenLists& lists_;
  bool ignores_merges_;
  TextIndex ranks_;
};

// The letter that stands for a byte, as UTF-8.
std::string byte_letter(uint8_t byte);

}  // namespace ckpt
