// Tokens with their types and scores, and merges, as the files of a folder give them, and the
// options that say which.
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

// Of a token that no merge makes, in a vocabulary whose scores are places of merges.
inline constexpr float kNeverMergedScore = -1e6f;

struct TokenizerOptions {
  std::optional<uint64_t> vocab_size = {};  // of config.json; nullopt: as many as there are tokens
  std::string_view vocab_size_of = "config.json's vocab_size";
  std::string_view vocab_size_field = {};  // that says it, as config steps name it
  std::optional<uint64_t> most_tokens = {};  // that the embedding has rows for, where it is known
  std::optional<std::string> pre_name = {};  // given by hand
  uint64_t segments = 1;  // that an encoder tells apart: type_vocab_size
  TokenizerRules rules = {};
  bool as_converter = false;  // also where llama.cpp then splits texts differently from the source
};

// For a vocab_size that is not of these weights, or older than they are.
std::string advice_on_count(uint64_t needed, const TokenizerOptions& options);

// How many tokens to make: config.json's vocab_size, or `held`, those that the files give. Fails:
// kCorrupt when that is more than the embedding has rows for, or, where it is not known, far more
// than the files give.
Result<uint64_t> token_count(uint64_t held, const TokenizerOptions& options);

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<float> scores;        // empty for byte-level BPE
  std::vector<std::string> merges;  // each as two tokens with one space between
  std::string_view model;           // tokenizer.ggml.model
  std::optional<std::string> pre;   // tokenizer.ggml.pre; nullopt: no such key
  // For notes, empty where nothing differs: added tokens of tokenizer.json from those that the
  // converter writes, and its other tokens from those of tokenizer.model.
  std::string difference, conflict;
  Metadata before, behind;  // keys in front of tokenizer.ggml.model, and behind the types
};

// `source`, which has the added tokens of tokenizer.json, or with options.as_converter
// `converters`; `difference` says how they differ.
Vocabulary chosen_vocabulary(Vocabulary source, Vocabulary converters,
                             const TokenizerOptions& options);

// Tokens by number, holes filled with "[PAD<i>]". `config` is tokenizer_config.json or null.
// Fails: kCorrupt for ids that are not whole numbers below token_count().
Result<Vocabulary> read_vocabulary(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                   const JsonValue& config, const TokenizerOptions& options);

// Texts by number; those from `base_count` on are not of model.vocab.
struct TokenTexts {
  VocabularyTokens by_id;
  uint64_t base_count = 0;
};
Result<TokenTexts> token_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                               const JsonValue& config);

// Merges, each as two tokens with one space between; from merges.txt when tokenizer.json has none.
Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint);

// One of them. Requires: check_merges is content.
std::string merge_text(const TokenLists::Merge& merge);
// Fails: kCorrupt for one that is neither a text nor a pair.
Status check_merges(const TokenLists& lists);

inline constexpr std::string_view kUnigramFile = "sentencepiece.bpe.model";
inline constexpr std::string_view kSegmentCountKey = "tokenizer.ggml.token_type_count";

// The vocabulary of an encoder that is not byte-level BPE; nullopt: it is. Fails: kCorrupt;
// kUnsupported.
Result<std::optional<Vocabulary>> read_encoder(const Checkpoint& checkpoint,
                                               const JsonValue& tokenizer, const JsonValue& config,
                                               const TokenizerOptions& options);

// Whether tokenizer.json is BPE with byte fallback, as SentencePiece's models become there.
bool has_byte_fallback(const JsonValue& tokenizer);
// Its tokens, types and scores. Fails: kCorrupt, also where model.vocab leaves ids out.
Result<Vocabulary> read_byte_fallback(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);
// Makes the added tokens of tokenizer.json, by `ids`, control if they are special and otherwise
// user-defined, unless they have a type of their own.
void give_added_types(const JsonValue& tokenizer, const TextIndex& ids, Vocabulary& vocabulary);
// Makes these tokens user-defined, so that programs print them.
void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary);

// Scores and types of `vocabulary`, which read_byte_fallback made, by the merges and added tokens
// of tokenizer.json, filled up to vocab_size tokens, which llama.cpp demands. Notes tokens that
// llama.cpp joins in another order anyway. Fails: kCorrupt, as read_merges and token_count().
Status follow_source(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                     const TokenizerOptions& options, const Context& context,
                     Vocabulary& vocabulary);
// Whether the keys of pieces put a space in front of a text where tokenizer.json puts none, or the
// other way round. They then follow it, unless they are the converter's.
bool follow_prefix(const JsonValue& tokenizer, bool as_converter, Metadata& metadata);

}  // namespace ckpt
