// Vocabulary of tokenizer.model, as SentencePiece writes it.
#pragma once

#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Tokens, scores and types of tokenizer.model, which must be there, and of the files beside it.
// Fails: kCorrupt for a broken file, ids that are no whole numbers or come twice.
Result<Vocabulary> read_pieces(const Checkpoint& checkpoint, const JsonValue& config,
                               const TokenizerOptions& options, const Context& context);

}  // namespace ckpt
