// A tokenizer as keys: tokenizer.ggml.* from tokenizer.json and its companions.
//
//   model, pre, tokens, token_type, merges, *_token_id, add_*_token, chat_template, normalizer.*
//
// Byte-level BPE only. Source: llama.cpp conversion/base.py (get_vocab_base), gguf-py/gguf/vocab.py
// (SpecialVocab). What a reader would get wrong: ids of special tokens come first from
// tokenizer_config.json by text, then from config.json by number, and are written in that order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/checkpoint.h"

namespace ckpt {

struct TokenizerOptions {
  std::optional<uint64_t> vocab_size;   // of config.json; nullopt: as many as there are tokens
  std::optional<std::string> pre_name;  // given by hand
  bool writes_add_space_prefix = false;
};

// Fails: kUsage without tokenizer.json; kUnsupported for tokenizers other than byte-level BPE, and
// for a pre-tokenizer that is not recognised; kCorrupt, also for more tokens than vocab_size.
Status add_tokenizer_keys(const Checkpoint& checkpoint, const TokenizerOptions& options,
                          Metadata& metadata);

}  // namespace ckpt
