// Vocabulary of a tokenizer.json that is BPE with byte fallback.
#pragma once

#include <span>
#include <string_view>

#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Whether tokenizer.json is BPE with byte fallback, as SentencePiece's models become there.
bool has_byte_fallback(const JsonValue& tokenizer);
// Its tokens, types and scores. Fails: kCorrupt, also where model.vocab leaves ids out.
Result<Vocabulary> read_byte_fallback(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);
// Makes these tokens user-defined, so that programs print them.
void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary);

// Scores and types of `vocabulary`, which read_byte_fallback made, by the merges and added tokens
// of tokenizer.json, filled up to vocab_size tokens, which llama.cpp demands. Notes tokens that
// llama.cpp joins in another order anyway. Fails: kCorrupt, as read_merges and token_count().
Status follow_source(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                     const TokenizerOptions& options, const Context& context,
                     Vocabulary& vocabulary);
// tokenizer.ggml.add_space_prefix, as the normalizer puts a space in front of a text or does not.
void add_source_prefix(const JsonValue& tokenizer, const Context& context, Metadata& metadata);

}  // namespace ckpt
