// The parts of a tokenizer's keys; private to gguf_tokenizer*.cc.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/json/json_read.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"

namespace ckpt {

// llama.cpp gguf-py/gguf/constants.py `TokenType`.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

inline constexpr uint64_t kMaxTokens = 16'000'000;

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<float> scores;  // empty for byte-level BPE
};

// Tokens by number, holes filled with "[PAD<i>]". `config` is tokenizer_config.json or null.
// Fails: kCorrupt for ids that are no whole numbers below `vocab_size` (0: as many as needed).
Result<Vocabulary> read_vocabulary(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                   const JsonValue& config, uint64_t vocab_size);

// Texts by number; those from `base_count` on are not of model.vocab.
struct TokenTexts {
  std::map<uint64_t, std::string> by_id;
  uint64_t base_count = 0;
};
Result<TokenTexts> token_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                               const JsonValue& config);

// Whether tokenizer.json is BPE with byte fallback, as SentencePiece's models become there.
bool has_byte_fallback(const JsonValue& tokenizer);
// Its tokens, types and scores. Fails: kCorrupt, also where model.vocab leaves ids out.
Result<Vocabulary> read_byte_fallback(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config);
// Makes these tokens user-defined, so that programs print them.
void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary);

// Tokens, scores and types of tokenizer.model, which must be there, and of the files beside it.
// Fails: kCorrupt for a broken file, ids that are no whole numbers or come twice.
Result<Vocabulary> read_pieces(const Checkpoint& checkpoint, const JsonValue& config,
                               const TokenizerOptions& options, const Context& context);

// Merges, each as two tokens with one space between; from merges.txt when tokenizer.json has none.
Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint,
                                             const JsonValue& tokenizer);

// Tokens and merges of tiktoken.model, which must be there. `config` is tokenizer_config.json; 0
// for vocab_size: no special tokens. Fails: kCorrupt, naming the line.
struct RankedVocabulary {
  Vocabulary vocabulary;
  std::vector<std::string> merges;
};
Result<RankedVocabulary> read_ranks(const Checkpoint& checkpoint, const JsonValue& config,
                                    uint64_t vocab_size);

// Which special tokens are looked for; ids from `vocab_size` on are passed over.
struct SpecialsWanted {
  uint64_t vocab_size = UINT64_MAX;
  std::vector<std::string> kinds = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};
  std::vector<std::pair<std::string, uint64_t>> otherwise = {};  // ids of kinds no file speaks of
  std::string_view named = {};                                   // TokenizerRules::special_tokens
};

// Ids of special tokens, and flags that say which are added to a text. `tokenizer` is
// tokenizer.json or null, `config` tokenizer_config.json, empty when there is none.
Status add_special_ids(const Checkpoint& checkpoint, const JsonValue& tokenizer, JsonValue config,
                       const SpecialsWanted& wanted, Metadata& metadata);
// The same, then chat template and normalizer.
Status add_special_keys(const Checkpoint& checkpoint, const JsonValue& tokenizer, JsonValue config,
                        const SpecialsWanted& wanted, Metadata& metadata);

// A text, or a list of {name, template}; null when there is none.
// Fails: kCorrupt: a file that is not UTF-8, or no JSON.
Result<JsonValue> find_chat_template(const Checkpoint& checkpoint, const JsonValue& config);
void add_chat_template(const JsonValue& found, Metadata& metadata);

// llama.cpp's name for the rules by which tokenizer.json cuts a text before merging.
// Fails: kUnsupported, showing the rules, when no signature fits.
Result<std::string> recognize_pre_tokenizer(const JsonValue& tokenizer, const JsonValue& config,
                                            const std::vector<std::string>& merges);

// The steps that llama.cpp's `name` stands for, a line each: the pattern of a Split, or a word as
// in pre.cc ("bytes" last). Empty for names that are not known.
std::string_view pre_tokenizer_steps(std::string_view name);

}  // namespace ckpt
