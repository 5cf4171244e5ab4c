// Vocabulary of a tokenizer.json that is BPE with byte fallback.
#pragma once

#include <span>
#include <string_view>

#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Whether tokenizer.json is BPE with byte fallback, as SentencePiece's models become there.
bool has_byte_fallback(const JsonValue& tokenizer);
// Its tokens, types and scores. Fails: kCorrupt, also where model.vocab leaves ids out.
Result<Vocabulary> read_byte_fallback(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);
// Makes these tokens user-defined, so that programs print them.
void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary);

}  // namespace ckpt
