// The parts of the step "tokenizer"; private to tokenizer_*.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"
#include "core/model/transform.h"

namespace ckpt {

inline constexpr std::string_view kTokenizerJson = "tokenizer.json";
inline constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";

// ---- tokenizer.json (tokenizer_file.cc) ----

// tokenizer.json by its members, each as the text it is written in. Files have 10 to 20 MB, nearly
// all of it vocabulary and merges, which need no reading when their texts are equal.
struct TokenizerFile {
  using Member = std::pair<std::string_view, std::string_view>;  // key without quotes, value
  std::string_view file_text;
  std::vector<Member> members;
  std::vector<Member> model;  // of the member "model"

  // Text of a member, of `model` when the name is "model.NAME"; "" when absent.
  std::string_view text(std::string_view name) const;
  // The same, read; null when absent. Fails: kCorrupt.
  Result<JsonValue> value(std::string_view name) const;
};
// Views into the document, which must outlive it; nullopt when there is none.
// Fails: kCorrupt: no JSON object, or none at "model".
Result<std::optional<TokenizerFile>> read_tokenizer_file(const Checkpoint& checkpoint);

// A token beside the vocabulary, with what decides where it is found in a text.
struct AddedToken {
  uint64_t id = 0;
  std::string content;
  bool lstrip = false, normalized = false, rstrip = false, single_word = false, special = false;
  bool operator==(const AddedToken&) const = default;
};
// Sorted by id. Fails: kCorrupt.
Result<std::vector<AddedToken>> read_added_tokens(const TokenizerFile& file);
// Tokens of the vocabulary by id, "" where no token has it. Fails: kCorrupt, kUnsupported.
Result<std::vector<std::string>> read_tokens(const TokenizerFile& file);
// Merges in order of rank as "left right". Fails: kCorrupt.
Result<std::vector<std::string>> read_merge_texts(const TokenizerFile& file);

// ---- the model around it (tokenizer_model.cc) ----

struct TokenizerModel {
  std::string model_type;       // of config.json
  std::string text_model_type;  // of its text part; the same without one
  bool generates = false;       // an architecture ...ForCausalLM or ...ForConditionalGeneration
  std::optional<uint64_t> vocab_size;
  std::optional<uint64_t> embedding_rows;  // of the tensor; nullopt when tensors are not at hand
  // "eos" and the ids that config.json and generation_config.json give it
  std::vector<std::pair<std::string, std::vector<uint64_t>>> special_ids;
};
Result<TokenizerModel> read_tokenizer_model(const Checkpoint& checkpoint);
// Text of bos_token and its kin in tokenizer_config.json; nullopt when absent or null.
std::optional<std::string> special_text(const JsonValue& config, std::string_view kind);

// ---- classes (tokenizer_classes.cc) ----

// Whether transformers 4.57 has a class of that name, or one with "Fast" behind it.
bool is_class_of_4_57(std::string_view name);
// The class that the processor of a multimodal model type takes in 4.57; "" when it takes any.
std::string_view class_of_processor(std::string_view model_type);
// Whether transformers 5, given that class and model type, cuts text by rules of its own and not by
// those in tokenizer.json. Known for Qwen's classes; false for the others. Fails: kCorrupt.
Result<bool> transformers_5_cuts_otherwise(std::string_view name, std::string_view model_type,
                                           const TokenizerFile& file);

struct ClassChoice {
  std::string name;
  bool needs_file_rules = false;  // kFileRules must be set, or transformers 5 cuts otherwise
};
// The class to name for 4.57, such that ids stay what tokenizer.json says. Fails: kCorrupt.
Result<ClassChoice> choose_class(const TokenizerModel& model, const TokenizerFile& file);
// The key of tokenizer_config.json that makes transformers 5 take the rules of tokenizer.json under
// a class that has rules of its own; code is not loaded because of it, and 4.57 ignores it.
inline constexpr std::string_view kFileRules = "trust_remote_code";

// ---- the two jobs ----

// Fails: kUsage, kCorrupt, kUnsupported.
Status fix_tokenizer(Checkpoint& checkpoint, const Options& options, const Context& context);
Status take_tokenizer_from(Checkpoint& checkpoint, const Options& options, const Context& context);
Status take_tokenizer_into_gguf(Checkpoint& checkpoint, const Options& options,
                                const Context& context);

// ---- differences (tokenizer_compare.cc) ----

// ids: a number stands for another token. rules: text is cut or framed otherwise. special: another
// token begins, ends or pads.
enum class TokenizerArea : uint8_t { kIds, kRules, kSpecial };
struct TokenizerDifference {
  TokenizerArea area;
  std::string text;  // "token 17: 'ab' here, 'ba' there"
};
// The first difference of each area, in the order of areas.
using TokenizerDifferences = std::vector<TokenizerDifference>;
Result<TokenizerDifferences> compare_tokenizers(const Checkpoint& ours, const Checkpoint& theirs);
// First index at which two lists differ; nullopt when they are equal.
std::optional<std::string> first_token_difference(const std::vector<std::string>& ours,
                                                  const std::vector<std::string>& theirs,
                                                  std::string_view what);
// Fails: kUnsupported for the first difference that accept=AREA does not name; notes the others.
Status settle(const TokenizerDifferences& differences, const Options& options,
              const Context& context);

}  // namespace ckpt
