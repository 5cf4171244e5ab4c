// Tokens of tiktoken.model, and the merges that follow from its ranks (llama.cpp
// conversion/deepseek.py DeepseekV2Model.set_vocab, qwen.py QwenModel.bpe; tiktoken/load.py).
//
//   "IQ== 0"   one token per line: its bytes in base64, and its rank, which is its id
//
// Special tokens follow the last rank, up to vocab_size: tokenizer_config.json names some by id,
// the family the others (TokenizerRules). The merge of a token is its split into two parts by
// merges of lower ranks; tokens with more parts have no merge.
#include <unordered_map>

#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "transforms/facts/byte_level_bpe.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

constexpr size_t kMaxRankBytes = 1024;  // limit for the text of a token

struct RankedToken {
  std::string bytes;
  uint64_t rank = 0;
};

// Returns nullopt if a character is not in the alphabet.
std::optional<std::string> bytes_of_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == kAlphabet.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

Result<std::vector<RankedToken>> read_ranked_tokens(const Document& file) {
  std::string_view text = file.text();
  std::vector<RankedToken> out;
  for (uint64_t line = 1; !text.empty(); ++line) {
    std::string_view row = take_line(text);
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    const auto bytes = bytes_of_base64(take_word(row));
    const auto rank = row.size() <= 8 ? number_from<uint64_t>(row) : std::nullopt;
    if (!bytes || bytes->empty() || bytes->size() > kMaxRankBytes || !rank) {
      return corrupt("{}: line {}: expected a token in base64 and its rank", file.path, line);
    }
    out.push_back({*bytes, *rank});
  }
  return out;
}

std::string text_of_bytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += byte_letter(static_cast<uint8_t>(c));
  return out;
}

using RankOf = std::unordered_map<std::string, uint64_t>;

// The parts of a token after merging only pairs below its rank, lowest first.
std::vector<std::string> parts_below(const RankedToken& token, const RankOf& ranks) {
  std::vector<std::string> parts;
  for (const char c : token.bytes) parts.emplace_back(1, c);
  while (parts.size() > 1) {
    size_t best = 0;
    uint64_t best_rank = token.rank;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found == ranks.end() || found->second >= best_rank) continue;
      best = i;
      best_rank = found->second;
    }
    if (best_rank == token.rank) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  return parts;
}

std::vector<std::string> merges_of(const std::vector<RankedToken>& tokens) {
  RankOf ranks;
  for (const RankedToken& token : tokens) ranks[token.bytes] = token.rank;
  std::vector<std::string> out;
  for (const RankedToken& token : tokens) {
    if (token.bytes.size() == 1) continue;
    const std::vector<std::string> parts = parts_below(token, ranks);
    if (parts.size() != 2) continue;
    out.push_back(text_of_bytes(parts[0]) + " " + text_of_bytes(parts[1]));
  }
  return out;
}

// The special token `id`, at position `place` after the last rank.
std::string special_behind(uint64_t place, uint64_t id, const TokenizerRules& rules) {
  const auto words = split_words(rules.ranked_specials);
  if (words.empty()) return fmt::format("<|reserved_token_{}|>", id);
  if (place < words.size()) return std::string(words[place]);
  return fmt::format("<|extra_{}|>", place - words.size());
}

}  // namespace

Result<Vocabulary> read_ranks(const Checkpoint& checkpoint, const JsonValue& config,
                              const TokenizerOptions& options) {
  const Document* file = checkpoint.find_document(options.rules.ranks_file);
  CKPT_CHECK(file != nullptr);
  CKPT_ASSIGN(const std::vector<RankedToken> tokens, read_ranked_tokens(*file));
  CKPT_ASSIGN(const auto named, decoder_tokens(config));
  CKPT_ASSIGN(const uint64_t size, token_count(tokens.size(), options));
  Vocabulary out;
  out.tokens.resize(size);
  out.types.resize(size, static_cast<int32_t>(TokenType::kUnused));
  for (const RankedToken& token : tokens) {
    if (token.rank >= size) continue;
    out.tokens[token.rank] = text_of_bytes(token.bytes);
    out.types[token.rank] = static_cast<int32_t>(TokenType::kNormal);
  }
  for (uint64_t id = 0; id < size; ++id) {
    std::string& text = out.tokens[id];
    const auto found = named.find(id);
    if (id >= tokens.size()) {
      text = found != named.end() ? found->second.text
                                  : special_behind(id - tokens.size(), id, options.rules);
      out.types[id] = static_cast<int32_t>(TokenType::kControl);
    } else if (text.empty()) {
      text = fmt::format("[PAD{}]", id);
    }
  }
  out.merges = merges_of(tokens);
  return out;
}

}  // namespace ckpt
