// Converts tokenizer files of a model to the keys tokenizer.ggml.*:
//
//   tokenizer.json, byte-level BPE        model gpt2:   pre, tokens, token_type, merges
//   tokenizer.model (SentencePiece)       model llama:  pre, tokens, scores, token_type
//   tokenizer.json, BPE with byte         model llama:  the same, with scores by the order of its
//     fallback, without a .model file                   merges (byte_fallback.cc)
//   tiktoken.model, if there is no tokenizer.json and the family uses it: model gpt2
//   then: *_token_id, add_*_token, chat_template, normalizer.*
//
// Source: llama.cpp conversion/base.py (get_vocab_base, _create_vocab_sentencepiece),
// gguf-py/gguf/vocab.py (SpecialVocab, LlamaHfVocab). The ids of special tokens come from the texts
// in tokenizer_config.json, then from the ids in config.json, and are written in this order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/gaps.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Fails: kUsage without a tokenizer; kUnsupported for types of tokenizers that the rules do not
// cover, and for an unknown pre-tokenizer; kCorrupt, also for more tokens than vocab_size or
// `most_tokens`, before they are made.
Status add_tokenizer_keys(const Checkpoint& checkpoint, const TokenizerOptions& options,
                          const Context& context, Metadata& metadata);

// How llama.cpp splits texts by the keys of a folder's tokenizer.json; nullopt if there is no
// readable tokenizer.json.
struct TokenizerForm {
  LlamaSplitting splitting;
  bool has_other_scores;  // scores differ from the converter's, which split texts differently
  std::string difference;  // between added tokens and the converter's; empty: none
  std::string conflict;    // between tokens of tokenizer.model, which is used, and tokenizer.json
};
std::optional<TokenizerForm> tokenizer_form(const Checkpoint& checkpoint,
                                            const TokenizerOptions& options);

// Tokens and merges of tiktoken.model, which must exist. `config` is tokenizer_config.json. Without
// vocab_size there are no special tokens. Fails: kCorrupt, naming the line; as token_count().
Result<Vocabulary> read_ranks(const Checkpoint& checkpoint, const JsonValue& config,
                              const TokenizerOptions& options);

}  // namespace ckpt
