// The parts of a tokenizer's keys; private to gguf_tokenizer*.cc.
#pragma once

#include <string>
#include <vector>

#include "core/json_read.h"

namespace ckpt {

// llama.cpp gguf-py/gguf/constants.py `TokenType`.
enum class TokenType : int32_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

inline constexpr uint64_t kMaxTokens = 16'000'000;

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
};

// Tokens by number, holes filled with "[PAD<i>]". `config` is tokenizer_config.json or null.
// Fails: kCorrupt for ids that are no whole numbers below `vocab_size` (0: as many as needed).
Result<Vocabulary> read_vocabulary(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                   const JsonValue& config, uint64_t vocab_size);

// Merges, each as two tokens with one space between; from merges.txt when tokenizer.json has none.
Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint,
                                             const JsonValue& tokenizer);

// Ids of special tokens, flags that say which are added to a text, chat template, normaliser.
Status add_special_keys(const Checkpoint& checkpoint, const JsonValue& tokenizer, JsonValue config,
                        Metadata& metadata);

// llama.cpp's name for the rules by which tokenizer.json cuts a text before merging.
// Fails: kUnsupported, showing the rules, when no signature fits.
Result<std::string> recognise_pre_tokenizer(const JsonValue& tokenizer, const JsonValue& config,
                                            const std::vector<std::string>& merges);

}  // namespace ckpt
