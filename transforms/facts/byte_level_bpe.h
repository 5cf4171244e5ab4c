// Byte-level BPE: turns a piece of text into ids by joining neighbors, the best merge first.
//
//   bytes -> letters (printable bytes map to themselves, the others to U+0100 and above)
//   "low" -> l o w -> lo w -> low                    merges in order of rank: "l o", "lo w"
//
// Among equal pairs the leftmost is joined first. A tokenizer that ignores merges takes an entire
// piece as one token if the vocabulary has it.
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
  // Lists and merges must outlive this object.
  ByteLevelBpe(const JsonValue& model, const TokenLists& lists,
               const std::vector<std::string>& merges);

  // Appends the ids of `piece`. Returns false if a token after merging is not in the vocabulary.
  bool encode(std::string_view piece, std::vector<uint64_t>& ids) const;

 private:
  std::optional<uint64_t> id_of(std::string_view token) const;
  void merge(std::vector<std::string>& symbols) const;

  const TokenLists& lists_;
  bool ignores_merges_;
  TextIndex ranks_;
};

// The letter for a byte, as UTF-8.
std::string byte_letter(uint8_t byte);

}  // namespace ckpt
