// Reads only the required parts of tokenizer.json.
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

// The members of tokenizer.json as text. Files have 10 to 20 MB, mostly vocabulary and merges,
// which need not be parsed if their texts are equal.
struct TokenizerFile {
  using Member = std::pair<std::string_view, std::string_view>;  // key without quotes, value
  std::string_view file_text;
  std::vector<Member> members;
  std::vector<Member> model;  // members of the member "model"

  // The text of a member, or of one in `model` if the name is "model.NAME"; "" if absent.
  std::string_view text(std::string_view name) const;
  // The same, parsed; null if absent. Fails: kCorrupt.
  Result<JsonValue> value(std::string_view name) const;
};

// Returns views into the document, which must outlive them; nullopt if there is none. Fails:
// kCorrupt: it is not a JSON object, or "model" is not.
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

// The tokens of the vocabulary by id; "" for unused ids. Fails: kCorrupt, kUnsupported.
Result<std::vector<std::string>> read_tokens(const TokenizerFile& file);

// Merges as "left right", in the order of rank. Fails: kCorrupt.
Result<std::vector<std::string>> read_merge_texts(const TokenizerFile& file);

}  // namespace ckpt
