// A tokenizer as keys: tokenizer.ggml.* from a model's tokenizer files.
//
//   tokenizer.json, byte-level BPE        model gpt2:   pre, tokens, token_type, merges
//   tokenizer.model (SentencePiece)       model llama:  pre, tokens, scores, token_type
//   tokenizer.json, BPE with byte         model llama:  the same, with scores by the order of its
//     fallback, where no .model is                      merges (byte_fallback.cc)
//   tiktoken.model, where no tokenizer.json is and the family takes it: model gpt2
//   then: *_token_id, add_*_token, chat_template, normalizer.*
//
// Source: llama.cpp conversion/base.py (get_vocab_base, _create_vocab_sentencepiece),
// gguf-py/gguf/vocab.py (SpecialVocab, LlamaHfVocab). Ids of special tokens come first from
// tokenizer_config.json by text, then from config.json by number, and are written in that order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/gaps.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Fails: kUsage without a tokenizer; kUnsupported for kinds of tokenizers that the rules do not
// take, and for a pre-tokenizer that is not recognized; kCorrupt, also for more tokens than
// vocab_size or `most_tokens`, before they are made.
Status add_tokenizer_keys(const Checkpoint& checkpoint, const TokenizerOptions& options,
                          const Context& context, Metadata& metadata);

// How llama.cpp splits texts with the keys of a folder's tokenizer.json; nullopt without one that
// can be read.
struct TokenizerForm {
  LlamaSplitting splitting;
  bool has_other_scores;  // than the converter's, which split texts differently from the source
  std::string difference;  // of added tokens from the converter's; empty: none
  std::string conflict;    // of tokens of tokenizer.model, which the keys have, and tokenizer.json
};
std::optional<TokenizerForm> tokenizer_form(const Checkpoint& checkpoint,
                                            const TokenizerOptions& options);

// Tokens and merges of tiktoken.model, which must be there. `config` is tokenizer_config.json;
// without a vocab_size, no special tokens. Fails: kCorrupt, naming the line; as token_count().
Result<Vocabulary> read_ranks(const Checkpoint& checkpoint, const JsonValue& config,
                              const TokenizerOptions& options);

}  // namespace ckpt
