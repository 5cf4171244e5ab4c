// Added tokens: their ids, types and texts in the file.
//
// Source: the library tokenizers 0.22 (AddedVocabulary::add_tokens, decoders/byte_level.rs),
// transformers 4.57 tokenization_utils_{base,fast}.py, llama.cpp conversion/base.py get_vocab_base.
// Ids in added_tokens are ignored: a token of the vocabulary keeps its id, and any other gets the
// one after the last, in the order of the list.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/token_lists.h"

namespace ckpt {

// llama.cpp gguf-py/gguf/constants.py `TokenType`.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

inline constexpr uint64_t kMaxTokens = 16'000'000;

inline const Hint kSourceTokenizer("the tokenizer.json of the source model, --tokenizer DIR",
                                   Remedy::kTokenizer);

struct VocabularyToken {
  std::string text;
  TokenType type = TokenType::kNormal;
};
// Ascending by id.
using VocabularyTokens = std::vector<std::pair<uint64_t, VocabularyToken>>;

// A token as a file lists it. `normalized` defaults to the opposite of `special`.
struct TokenAddition {
  std::string text;
  bool special = false;
  bool normalized = true;
  bool lstrip = false, rstrip = false, single_word = false;
  bool operator==(const TokenAddition&) const = default;
};
// The token with this text and the flags of `entry`, an object.
TokenAddition token_of_entry(const JsonValue& entry, std::string text);
// The tokens of tokenizer.json with their ids, in the order of the list. Fails: kCorrupt: no
// content, or no id.
using ListedTokens = std::vector<std::pair<uint64_t, TokenAddition>>;
Result<ListedTokens> listed_tokens(const JsonValue& tokenizer);

// Reads the checkpoint's tokenizer.json; empty without one. Fails: as Document::token_lists.
Result<std::shared_ptr<const TokenLists>> token_lists_of(const Checkpoint& checkpoint);

// Returns the added tokens, ascending by id, of tokenizer.json, whose model.vocab must be an
// object, tokenizer_config.json (`config`; null or an object), added_tokens.json and
// special_tokens_map.json. Fails: kCorrupt: a token without text or id; kUnsupported: a token's
// text must be decoded by an unknown decoder.
Result<VocabularyTokens> added_tokens(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);

// Returns the added tokens like added_tokens(), with texts as spelled in the files, all of type
// kNormal.
Result<VocabularyTokens> added_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                     const JsonValue& config);

// The id for a token in `file`. Fails: kCorrupt: it is not an id, or exceeds kMaxTokens.
Result<uint64_t> added_id(const JsonValue* id, const char* file, std::string_view text);

// Parses a key of added_tokens_decoder as an id: at most nine digits.
std::optional<uint64_t> id_of_key(std::string_view key);

// Tokens in added_tokens_decoder of tokenizer_config.json, by id. Fails: kCorrupt: a key that is
// not an id or occurs twice, or no content.
Result<std::map<uint64_t, TokenAddition>> decoder_tokens(const JsonValue& config);

// Whether a text is always a control token, regardless of the files: "<|...|>", "<unused0>".
bool looks_special(std::string_view text);
// Replaces SentencePiece's U+2581 by spaces.
std::string with_spaces(std::string_view text);

// The text that the converter writes for an added token that is not normalized: the decoded text of
// its ids. `clean_up`: clean_up_tokenization_spaces in tokenizer_config.json. Fails: kUnsupported,
// naming the decoder.
Result<std::string> decode_added_token(const std::string& text, const JsonValue* decoder,
                                       bool clean_up);

}  // namespace ckpt
