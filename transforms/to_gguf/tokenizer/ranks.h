// Vocabulary of tiktoken.model: tokens and their ranks.
#pragma once

#include <string>
#include <vector>

#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

// Tokens and merges of tiktoken.model, which must be there. `config` is tokenizer_config.json;
// without a vocab_size, no special tokens. Fails: kCorrupt, naming the line; as token_count().
struct RankedVocabulary {
  Vocabulary vocabulary;
  std::vector<std::string> merges;
};
Result<RankedVocabulary> read_ranks(const Checkpoint& checkpoint, const JsonValue& config,
                                    const TokenizerOptions& options);

}  // namespace ckpt
