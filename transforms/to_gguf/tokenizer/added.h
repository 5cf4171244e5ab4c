// Added tokens: which they are, which numbers they get, and how they are spelled in the file.
//
// Source: the library tokenizers 0.22 (AddedVocabulary::add_tokens, decoders/byte_level.rs),
// transformers 4.57 tokenization_utils_{base,fast}.py, llama.cpp conversion/base.py get_vocab_base.
// The ids in added_tokens are ignored. A token of the vocabulary keeps its number; any other
// gets the one after the last, in the order of the list.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

struct VocabularyToken {
  std::string text;
  TokenType type = TokenType::kNormal;
};
// Ascending by number.
using VocabularyTokens = std::vector<std::pair<uint64_t, VocabularyToken>>;

// As a file lists it. `normalized` is the reverse of `special` where nothing says otherwise.
struct TokenAddition {
  std::string text;
  bool special = false;
  bool normalized = true;
};
// Those of tokenizer.json with their ids, in the order of the list. Fails: kCorrupt: no content, or
// no id.
using ListedTokens = std::vector<std::pair<uint64_t, TokenAddition>>;
Result<ListedTokens> listed_tokens(const JsonValue& tokenizer);

// Of the checkpoint's tokenizer.json; empty without one. Fails: as Document::token_lists.
Result<std::shared_ptr<const TokenLists>> token_lists_of(const Checkpoint& checkpoint);

// By number, ascending: what tokenizer.json, whose model.vocab must be an object,
// tokenizer_config.json (`config`; null or an object), added_tokens.json and
// special_tokens_map.json add.
// Fails: kCorrupt for tokens without text or id; kUnsupported for a decoder that is not known where
// a token would have to go through it.
Result<VocabularyTokens> added_tokens(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);

// The same, with the texts as the files spell them, all of type kNormal.
Result<VocabularyTokens> added_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                     const JsonValue& config);

// The id that `file` gives a token. Fails: kCorrupt: none, or beyond kMaxTokens.
Result<uint64_t> added_id(const JsonValue* id, const char* file, std::string_view text);

// The id that is a key of added_tokens_decoder: at most nine digits.
std::optional<uint64_t> id_of_key(std::string_view key);

// Those of tokenizer_config.json's added_tokens_decoder, by number. Fails: kCorrupt: a key that is
// none or comes twice, or no content.
Result<std::map<uint64_t, TokenAddition>> decoder_tokens(const JsonValue& config);

// True for texts that are control tokens whatever files say of them: "<|...|>", "<unused0>".
bool looks_special(std::string_view text);
// With spaces where SentencePiece has U+2581.
std::string with_spaces(std::string_view text);

// The text that the converter writes for an added token that is not normalized: what its ids are
// decoded to. `clean_up` as in tokenizer_config.json's clean_up_tokenization_spaces.
// Fails: kUnsupported, naming the decoder.
Result<std::string> decode_added_token(const std::string& text, const JsonValue* decoder,
                                       bool clean_up);

}  // namespace ckpt
