// Names of the rules by which a text is cut before merging.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/token_lists.h"

namespace ckpt {

// llama.cpp's name for the rules by which tokenizer.json cuts a text before merging.
// Fails: kUnsupported, showing the rules, when no signature fits.
Result<std::string> recognize_pre_tokenizer(const JsonValue& tokenizer, const JsonValue& config,
                                            const TokenLists& lists,
                                            const std::vector<std::string>& merges);

// Names for WordPiece, which llama.cpp cuts by one rule whatever the name; its converter gives the
// first one to BERT's vocabulary. Byte-level BPE cannot have them.
inline constexpr std::string_view kWordPieceNames = "jina-v2-en bert-bge bert-bge-large";

inline constexpr std::string_view kPreTokenizerNames = "a pre-tokenizer that llama.cpp knows";
// The names that llama.cpp loads, as data/profiles/llama.cpp.txt lists them, and those above.
std::vector<std::string> pre_tokenizer_names();

// Names of pre-tokenizers, separated by spaces, and the patterns by which llama.cpp splits texts
// for all of them.
struct PreTokenizerRules {
  std::string names;
  std::vector<std::string> rules;
};
std::vector<PreTokenizerRules> all_pre_tokenizers();

// Names of the pre-tokenizers that cut texts by the same patterns as `name`, itself among them,
// between spaces; empty: none is known.
std::string_view names_with_rules_of(std::string_view name);

// The steps that llama.cpp's `name` stands for, a line each: the pattern of a Split, or a word as
// in pre.cc ("bytes" last). Empty for names that are not known.
std::string_view pre_tokenizer_steps(std::string_view name);

// Whether llama.cpp takes a word that is a token without merging, for the pre-tokenizer `name`.
bool pre_ignores_merges(std::string_view name);
// Whether published vocabularies of this pre-tokenizer bring texts to NFC; no key says it.
bool pre_normalizes_to_nfc(std::string_view name);

// Published vocabularies by a hash: several share their rules but not their name.
//
//   check text ─▶ pieces by the rules ─▶ ids ─▶ "[1, 2, 3]" ─▶ SHA-256 ─▶ "deepseek-r1-qwen"
//
// Source: llama.cpp conversion/base.py get_vocab_base_pre (text and hashes). The text never
// changes, so that its pieces are a table for each set of rules and no regular expression has to be
// run. Ids that the post-processor adds belong to the hash.

// Sizes in bytes of the pieces that the rules named `rules` cut the check text into; empty where
// data/pretokenizers.txt has none.
std::vector<uint8_t> check_pieces(std::string_view rules);

// Name of the vocabulary whose check text has ids with this SHA-256, or nothing.
std::string_view name_of_hash(std::string_view sha256);

// SHA-256 of the check text's ids; nullopt when the vocabulary cannot spell it.
std::optional<std::string> check_hash(const JsonValue& tokenizer, const TokenLists& lists,
                                      const std::vector<std::string>& merges,
                                      std::span<const uint8_t> pieces);

}  // namespace ckpt
