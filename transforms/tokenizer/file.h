// Reads tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/token_lists.h"
#include "transforms/to_gguf/tokenizer/added.h"

namespace ckpt {

inline constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

// A tokenizer.json whose "model" is an object.
struct TokenizerFile {
  std::shared_ptr<const JsonValue> values;  // without vocabulary and merges
  std::shared_ptr<const TokenLists> lists;
  std::string_view text;  // lives as long as `values`

  // A member, or one of "model" if the name is "model.NAME"; null if absent.
  const JsonValue& part(std::string_view name) const;
};

// Returns nullopt if the folder has no tokenizer.json. Fails: kCorrupt: it is not an object, or its
// "model" is not.
Result<std::optional<TokenizerFile>> read_tokenizer_file(const Checkpoint& checkpoint);

// Sorted by id. Fails: kCorrupt.
Result<ListedTokens> read_added_tokens(const TokenizerFile& file);

// The vocabulary of Unigram: [text, score] by id; null for other models. Fails: kCorrupt.
Result<JsonValue> read_scored_tokens(const TokenizerFile& file);
// The tokens of the vocabulary by id; "" for unused ids. Fails: kCorrupt.
Result<std::vector<std::string>> read_tokens(const TokenizerFile& file);

// Merges as "left right", in the order of rank. Fails: kCorrupt.
Result<std::vector<std::string>> read_merge_texts(const TokenizerFile& file);

}  // namespace ckpt
