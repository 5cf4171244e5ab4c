// tokenizer.json, read as far as it must be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"

namespace ckpt {

inline constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

// tokenizer.json by its members, each as the text it is written in. Files have 10 to 20 MB, nearly
// all of it vocabulary and merges, which need no reading when their texts are equal.
struct TokenizerFile {
  using Member = std::pair<std::string_view, std::string_view>;  // key without quotes, value
  std::string_view file_text;
  std::vector<Member> members;
  std::vector<Member> model;  // of the member "model"

  // Text of a member, of `model` when the name is "model.NAME"; "" when absent.
  std::string_view text(std::string_view name) const;
  // The same, read; null when absent. Fails: kCorrupt.
  Result<JsonValue> value(std::string_view name) const;
};

// Views into the document, which must outlive it; nullopt when there is none.
// Fails: kCorrupt: no JSON object, or none at "model".
Result<std::optional<TokenizerFile>> read_tokenizer_file(const Checkpoint& checkpoint);

// A token outside the vocabulary, with the flags that decide where it is found in a text.
struct AddedToken {
  uint64_t id = 0;
  std::string content;
  bool lstrip = false, normalized = false, rstrip = false, single_word = false, special = false;
  bool operator==(const AddedToken&) const = default;
};

// Sorted by id. Fails: kCorrupt.
Result<std::vector<AddedToken>> read_added_tokens(const TokenizerFile& file);

// Tokens of the vocabulary by id, "" where no token has it. Fails: kCorrupt, kUnsupported.
Result<std::vector<std::string>> read_tokens(const TokenizerFile& file);

// Merges in order of rank as "left right". Fails: kCorrupt.
Result<std::vector<std::string>> read_merge_texts(const TokenizerFile& file);

}  // namespace ckpt
