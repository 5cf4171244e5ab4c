// The vocabulary and merges of a tokenizer.json as flat lists. As a tree they would dominate the
// time and memory of all code that reads the file.
//
//   {"added_tokens": [...], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}}
//    └── values ───────────────────────────────────┘  └─ tokens ──┘     └─ merges ───────┘
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/text_index.h"
#include "core/json/json_read.h"

namespace ckpt {

// The members and version of a tokenizer.json; the library tokenizers rejects any other.
inline constexpr std::string_view kTokenizerMembers =
    "version truncation padding added_tokens normalizer pre_tokenizer post_processor decoder model";
inline constexpr std::string_view kTokenizerVersion = "1.0";

// Texts are views into the file or into `unescaped`.
struct TokenLists {
  enum class Vocabulary : uint8_t { kNone, kNumbers, kList };

  struct Token {
    std::string_view text;
    uint32_t id = 0;  // kOddId: see odd_ids for its spelling
  };
  static constexpr uint32_t kOddId = UINT32_MAX;

  // The pair ["left", "right"]; a text "left right" is all in `left`; anything else has neither.
  struct Merge {
    std::string_view left, right;
    bool is_pair() const { return right.data() != nullptr; }
    bool is_text() const { return left.data() != nullptr && !is_pair(); }
  };

  // model.vocab: an object of texts and numbers, or a list (Unigram), of which only the text is
  // stored.
  Vocabulary vocabulary = Vocabulary::kNone;
  std::string_view list_text;
  std::vector<Token> tokens;  // the last of equal texts, in file order
  std::map<std::string_view, std::string_view> odd_ids;  // JSON other than a number of few digits
  bool has_merges = false;                               // model.merges is a list
  std::vector<Merge> merges;
  TextIndex index;  // positions of texts in `tokens`
  std::vector<std::unique_ptr<std::string>> unescaped;

  const Token* find(std::string_view text) const;
  JsonValue id_value(const Token& token) const;
};

// The text of a token that a file gives as a text or as an object with its content; else null.
const std::string* text_of_token(const JsonValue& token);

// The rest of the file. `values` omits model.vocab if it is an object or a list, and model.merges
// if it is a list.
struct TokenizerJson {
  JsonValue values;
  TokenLists lists;
};
// `text` must outlive the lists. Fails: as parse_json(), without a path.
Result<TokenizerJson> parse_tokenizer_json(std::string_view text, Status* set_twice = nullptr);

}  // namespace ckpt
