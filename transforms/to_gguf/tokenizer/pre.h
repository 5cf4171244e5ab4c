// Names of the rules that split a text before merging.
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

// llama.cpp's name for the rules in tokenizer.json that split a text before merging. Fails:
// kUnsupported, showing the rules, if no signature matches.
Result<std::string> recognize_pre_tokenizer(const JsonValue& tokenizer, const JsonValue& config,
                                            const TokenLists& lists,
                                            const std::vector<std::string>& merges);

// Names for WordPiece, which llama.cpp splits by one rule for all names; its converter gives the
// first one to BERT's vocabulary. Byte-level BPE cannot have them.
inline constexpr std::string_view kWordPieceNames = "jina-v2-en bert-bge bert-bge-large";

inline constexpr std::string_view kPreTokenizerNames = "a pre-tokenizer that llama.cpp knows";
// The names that llama.cpp loads, from data/profiles/llama.cpp.txt, and those above.
std::vector<std::string> pre_tokenizer_names();

// Names of pre-tokenizers, separated by spaces, and the patterns by which llama.cpp splits texts
// for all of them.
struct PreTokenizerRules {
  std::string names;
  std::vector<std::string> rules;
};
std::vector<PreTokenizerRules> all_pre_tokenizers();

// Pre-tokenizers that split texts by the same patterns as `name`, including itself, separated by
// spaces; empty if `name` is unknown.
std::string_view names_with_rules_of(std::string_view name);

// The steps of llama.cpp's `name`, one per line: the pattern of a Split, or a word as in pre.cc
// ("bytes" last). Empty for unknown names.
std::string_view pre_tokenizer_steps(std::string_view name);

// Whether llama.cpp's pre-tokenizer `name` takes a word that is a token without merging.
bool pre_ignores_merges(std::string_view name);
// Whether published vocabularies of this pre-tokenizer normalize to NFC; no key declares it.
bool pre_normalizes_to_nfc(std::string_view name);

// Identifies published vocabularies by a hash, because several have the same rules but other names.
//
//   check text ─▶ pieces by the rules ─▶ ids ─▶ "[1, 2, 3]" ─▶ SHA-256 ─▶ "deepseek-r1-qwen"
//
// Source: llama.cpp conversion/base.py get_vocab_base_pre (text and hashes). The text never
// changes, so its pieces are stored in a table for each set of rules, and no regular expression is
// executed. The hash includes ids that the post-processor adds.

// Sizes in bytes of the pieces of the check text under the rules named `rules`; empty if
// data/pretokenizers.txt does not contain them.
std::vector<uint8_t> check_pieces(std::string_view rules);

// The name of the vocabulary whose check text has ids with this SHA-256; empty if unknown.
std::string_view name_of_hash(std::string_view sha256);

// SHA-256 of the check text's ids; nullopt if the vocabulary cannot spell it.
std::optional<std::string> check_hash(const JsonValue& tokenizer, const TokenLists& lists,
                                      const std::vector<std::string>& merges,
                                      std::span<const uint8_t> pieces);

}  // namespace ckpt
