// The checked tokens of a GGUF's keys; private to from_gguf/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

inline const Hint kOtherTokenizer("--tokenizer DIR, a folder with the model's tokenizer",
                                  Remedy::kTokenizer);

struct TokenTable {
  const std::vector<std::string>* tokens = nullptr;
  std::vector<int32_t> types;
  std::vector<float> scores;  // empty for byte-level BPE
  std::vector<std::string> merges;

  TokenType type(size_t id) const { return static_cast<TokenType>(types[id]); }
  const std::string& text(size_t id) const { return (*tokens)[id]; }
  size_t size() const { return tokens->size(); }
};

// Fails: kUsage without a tokenizer; kCorrupt: lists of different lengths, or a text that occurs
// twice or is not UTF-8.
Result<TokenTable> read_token_table(const Checkpoint& file);

// The id in "tokenizer.ggml.KIND_token_id"; nullopt if it is absent or not a token.
std::optional<uint64_t> special_id(const Checkpoint& file, const TokenTable& table,
                                   std::string_view kind);
// The flag "tokenizer.ggml.NAME"; nullopt if absent.
std::optional<bool> tokenizer_flag(const Checkpoint& file, std::string_view name);

struct PieceSettings {
  bool adds_prefix = false, removes_extra = false;
  bool is_unigram = false;         // otherwise BPE
  std::string character_map = {};  // precompiled_charsmap
};
// Makes tokenizer.model: a SentencePiece model with the tokens as pieces. Tokens after the last
// piece are omitted, because other files add them.
std::string piece_file_of(const TokenTable& table, uint64_t unknown, const PieceSettings& file);

// The number of tokens that are pieces of the model.
size_t piece_count(const TokenTable& table);

// The piece for unknown text; nullopt if the file does not declare it, or if the scores are
// positions of merges, as without a tokenizer.model.
std::optional<uint64_t> unknown_piece(const Checkpoint& file, const TokenTable& table);

// Whether a file other than tokenizer.model names the token.
bool is_outside_pieces_file(const TokenTable& table, size_t id);

// Whether scores are positions of merges, as from a tokenizer.json without tokenizer.model.
bool has_merge_places(const TokenTable& table);

// Whether scores determine the order of merges: two normal tokens have different scores.
bool has_scores(const TokenTable& table);

// The merges for each piece, best first, as transformers derives them from scores.
std::vector<std::pair<std::string, std::string>> merges_of_scores(const TokenTable& table);

}  // namespace ckpt
