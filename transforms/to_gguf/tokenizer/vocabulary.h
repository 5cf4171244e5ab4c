// Tokens with types and scores, and merges, from the files of a folder, and the options for reading
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/text_index.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/to_gguf/tokenizer/added.h"

namespace ckpt {

// Where the scores of tokens are positions in the list of merges: that of a token in no merge.
inline constexpr float kNeverMergedScore = -1e6f;

struct TokenizerOptions {
  std::optional<uint64_t> vocab_size = {};  // of config.json; nullopt: the number of tokens
  std::string_view vocab_size_of = "config.json's vocab_size";
  std::string_view vocab_size_field = {};  // its field, as config steps name it
  std::optional<uint64_t> most_tokens = {};  // rows of the embedding, if known
  std::optional<std::string> pre_name = {};  // given by the user
  uint64_t segments = 1;  // that an encoder distinguishes: type_vocab_size
  TokenizerRules rules = {};
  bool as_converter = false;  // even if llama.cpp then splits texts differently from the source
};

inline const Hint kFittingTokenizer(
    "a tokenizer that belongs to these weights, with --tokenizer DIR", Remedy::kTokenizer);
// Advice for a vocab_size that does not belong to these weights, or is outdated.
Hint advice_on_count(uint64_t needed, const TokenizerOptions& options);

// The number of tokens to make: vocab_size of config.json, or `held`, the number in the files.
// Fails: kCorrupt if it exceeds the rows of the embedding or, if these are unknown, far exceeds the
// number in the files.
Result<uint64_t> token_count(uint64_t held, const TokenizerOptions& options);

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<float> scores;        // empty for byte-level BPE
  std::vector<std::string> merges;  // each as two tokens separated by a space
  std::string_view model;           // tokenizer.ggml.model
  std::optional<std::string> pre;   // tokenizer.ggml.pre; nullopt: no key
  // Texts for notes, empty if there is no difference: of added tokens in tokenizer.json from those
  // of the converter, and of its other tokens from those of tokenizer.model.
  std::string difference, conflict;
  Metadata before, behind;  // keys before tokenizer.ggml.model, and after the types
};

// Returns `source`, with the added tokens of tokenizer.json, or `converters` if
// options.as_converter; `difference` describes how they differ.
Vocabulary chosen_vocabulary(Vocabulary source, Vocabulary converters,
                             const TokenizerOptions& options);

// Reads tokens in the order of ids; fills gaps with "[PAD<i>]". `config` is tokenizer_config.json
// or null. Fails: kCorrupt for ids that are not integers below token_count().
Result<Vocabulary> read_vocabulary(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                   const JsonValue& config, const TokenizerOptions& options);

// Texts in the order of ids; those from `base_count` on are not in model.vocab.
struct TokenTexts {
  VocabularyTokens by_id;
  uint64_t base_count = 0;
};
Result<TokenTexts> token_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                               const JsonValue& config);

// Reads merges as "left right", from merges.txt if tokenizer.json has none.
Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint);

// The text of one merge. Requires: check_merges succeeded.
std::string merge_text(const TokenLists::Merge& merge);
// Fails: kCorrupt if a merge is neither a text nor a pair.
Status check_merges(const TokenLists& lists);

inline constexpr std::string_view kUnigramFile = "sentencepiece.bpe.model";
inline constexpr std::string_view kSegmentCountKey = "tokenizer.ggml.token_type_count";

// The vocabulary of an encoder; nullopt if it is byte-level BPE. Fails: kCorrupt; kUnsupported.
Result<std::optional<Vocabulary>> read_encoder(const Checkpoint& checkpoint,
                                               const JsonValue& tokenizer, const JsonValue& config,
                                               const TokenizerOptions& options);

// Whether tokenizer.json is BPE with byte fallback, the form of SentencePiece models there.
bool has_byte_fallback(const JsonValue& tokenizer);
// Its tokens, types and scores. Fails: kCorrupt, also if model.vocab has gaps between ids.
Result<Vocabulary> read_byte_fallback(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);
// Makes the added tokens of tokenizer.json, by `ids`, control if they are special and otherwise
// user-defined, unless they have another type than normal.
void give_added_types(const JsonValue& tokenizer, const TextIndex& ids, Vocabulary& vocabulary);
// Makes these tokens user-defined, so that programs print them.
void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary);

// Sets scores and types of `vocabulary`, made by read_byte_fallback, by the merges and added tokens
// of tokenizer.json, and fills it up to vocab_size tokens, which llama.cpp requires. Notes tokens
// that llama.cpp still joins in another order. Fails: kCorrupt, as read_merges and token_count().
Status follow_source(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                     const TokenizerOptions& options, const Context& context,
                     Vocabulary& vocabulary);
// Whether the keys and tokenizer.json disagree about a space before a text. The keys then follow
// tokenizer.json, unless `as_converter`.
bool follow_prefix(const JsonValue& tokenizer, bool as_converter, Metadata& metadata);

}  // namespace ckpt
