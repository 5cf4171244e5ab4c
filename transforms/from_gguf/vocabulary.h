// tokenizer.json and tokenizer_config.json from the keys of a GGUF.
//
//   tokens, token_type ─▶ model.vocab, added_tokens      pre ─▶ pre_tokenizer
//   merges, scores     ─▶ model.merges                   bos, add_bos_token ─▶ post_processor
//
// Sources: llama.cpp src/llama-vocab.cpp (rules and flags of each name); transformers 5
// convert_slow_tokenizer.py (SentencePiece's models as BPE). What the file does not say: the
// normalizer (taken from the name of the rules), lstrip and rstrip of added tokens, the class.
#pragma once

#include <string>
#include <vector>

#include "core/model/checkpoint.h"

namespace ckpt {

// Adds tokenizer.json, tokenizer_config.json, chat_template.jinja and, for SentencePiece's kind,
// tokenizer.model to the documents of `folder`; says in `guessed` what the file does not tell.
// Fails: kUnsupported: a kind of tokenizer, or rules, that are not known; kCorrupt.
Status add_tokenizer_documents(const Checkpoint& file, Checkpoint& folder,
                               std::vector<std::string>& guessed);

}  // namespace ckpt
