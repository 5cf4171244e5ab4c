// Finds llama.cpp's name for a pre-tokenizer by the rules in tokenizer.json.
//
// llama.cpp compares a hash of the ids of one fixed text, and therefore knows only published
// vocabularies. Here the rules come first and identify any vocabulary; then the hash (known.cc)
// distinguishes published ones with the same rules. Source: llama.cpp src/llama-vocab.cpp
// (llm_tokenizer_bpe: "original regex from tokenizer.json"). Several names have the same rules; if
// tokenizer.json cannot distinguish them, a name with the same behavior is chosen.
#include "transforms/to_gguf/tokenizer/pre.h"

#include <algorithm>

#include "core/base/find.h"
#include "core/base/words.h"
#include "transforms/to_gguf/tokenizer/special.h"

namespace ckpt {
namespace {

// Pieces that the patterns share. X alone: a run of letters may start with one other character.
#define CKPT_CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CKPT_TAIL R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define CKPT_UPPER_WORD \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
#define CKPT_LOWER_WORD \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"

// Kimi's pattern, in which each Chinese character is separate (tokenization_kimi.py, pat_str).
#define CKPT_NO_HAN(classes) "[" classes R"(&&[^\p{Han}]])"
#define CKPT_NO_HAN_UPPER CKPT_NO_HAN(R"(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})")
#define CKPT_NO_HAN_LOWER CKPT_NO_HAN(R"(\p{Ll}\p{Lm}\p{Lo}\p{M})")

// Steps in the notation of step_text(), joined with newlines. A last step "bytes" means ByteLevel
// without its default pattern, "bytes+words" ByteLevel with it.
struct Signature {
  std::string_view steps;
  std::string_view name;
};

constexpr Signature kSignatures[] = {
    {CKPT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" CKPT_TAIL
                      "\nbytes",
     "qwen2"},
    {CKPT_CONTRACTION
     R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" CKPT_TAIL
     "\nbytes",
     "qwen35"},
    {CKPT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" CKPT_TAIL
                      "\nbytes",
     "llama-bpe"},
    {CKPT_UPPER_WORD "|" CKPT_LOWER_WORD R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" CKPT_TAIL
                     "\nbytes",
     "tekken"},
    {CKPT_UPPER_WORD CKPT_CONTRACTION "?|" CKPT_LOWER_WORD CKPT_CONTRACTION
                                      R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" CKPT_TAIL
                                      "\nbytes",
     "gpt-4o"},
    {R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)" CKPT_NO_HAN_UPPER "*" CKPT_NO_HAN_LOWER "+" CKPT_CONTRACTION
     R"(?|[^\r\n\p{L}\p{N}]?)" CKPT_NO_HAN_UPPER "+" CKPT_NO_HAN_LOWER "*" CKPT_CONTRACTION
     R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" CKPT_TAIL "\nbytes",
     "kimi-k2"},
    {R"(\d{1,3}(?=(?:\d{3})*\b))"
     "\n" CKPT_UPPER_WORD CKPT_CONTRACTION "?|" CKPT_LOWER_WORD CKPT_CONTRACTION
     R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" CKPT_TAIL "\nbytes",
     "tiny_aya"},
    {R"(\p{N}{1,3})"
     "\n[一-龥぀-ゟ゠-ヿ]+\n"
     R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)"
     R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" CKPT_TAIL "\nbytes",
     "deepseek-v3"},
    {R"([\r\n])"
     "\n"
     R"(\s?\p{L}+)"
     "\n"
     R"(\s?\p{P}+)"
     "\n[一-龥ࠀ-一가-퟿]+\ndigit\nbytes",
     "deepseek-coder"},
    {CKPT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" CKPT_TAIL
                      "\nbytes",
     "seed-coder"},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?)"
     R"([^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"
     "\nbytes",
     "bailingmoe"},
    {R"(\p{N}{1,3})"
     "\n" CKPT_CONTRACTION
     R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)" CKPT_TAIL "\nbytes",
     "minicpm5"},
    {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" CKPT_TAIL "\nbytes",
     "ufakzeka"},
    {"punctuation\nbytes+words\ndigits\n[0-9][0-9][0-9]", "falcon"},
    {"digit\nbytes+words", "starcoder"},
    {"bytes+words", "gpt-2"},
};

// Its second pattern has over a thousand characters; no other pattern has this beginning.
constexpr std::string_view kDeepSeekLlm = R"([\r\n])"
                                          "\n"
                                          R"(\s?[A-Za-zµÀ-)";

// Notation of one step: a Split's pattern with line ends as in C, or a word for other types.
std::string step_text(const JsonValue& step) {
  const std::string* type = text_of(step, "type");
  if (type == nullptr) return "?";
  if (*type == "ByteLevel") {
    const JsonValue* words = known(step, "use_regex");
    return words == nullptr || is_truthy(words) ? "bytes+words" : "bytes";
  }
  if (*type == "Digits") return is_truthy(known(step, "individual_digits")) ? "digit" : "digits";
  if (*type == "Punctuation") return "punctuation";
  if (*type != "Split") return *type;
  const std::string* regex = text_of(known(step, "pattern"), "Regex");
  const std::string* behavior = text_of(step, "behavior");
  if (regex == nullptr) return "Split by a text";
  const std::string out = replace_all(replace_all(*regex, "\n", "\\n"), "\r", "\\r");
  // Removed with invert keeps matches, which equals Isolated if the pattern matches everything.
  const bool inverted = is_truthy(known(step, "invert"));
  const bool keeps = behavior == nullptr || (*behavior == "Isolated" && !inverted) ||
                     (*behavior == "Removed" && inverted);
  return keeps ? out : fmt::format("{} ({}{})", out, *behavior, inverted ? ", inverted" : "");
}

void append_steps(const JsonValue& step, std::vector<std::string>& out) {
  const JsonValue* list = known(step, "pretokenizers");
  if (list == nullptr || !list->is_array()) {
    out.push_back(step_text(step));
    return;
  }
  for (const JsonValue& inner : *list) append_steps(inner, out);
}

// Whether the post-processor puts a token before a text.
bool adds_first_token(const JsonValue& tokenizer) {
  return std::ranges::any_of(post_processors(tokenizer), [](const JsonValue& step) {
    const JsonValue& single = list_in(step, "single");
    return single.size() > 1 && known(single.front(), "SpecialToken") != nullptr;
  });
}

// Distinguishes names with the same rules by other facts of tokenizer.json.
std::string refine(std::string_view name, const JsonValue& tokenizer, const JsonValue& config) {
  const bool ignores_merges = is_truthy(known(known(tokenizer, "model"), "ignore_merges"));
  if (name == "llama-bpe" && !ignores_merges && !adds_first_token(tokenizer)) return "smaug-bpe";
  if (name == "starcoder") {
    if (text_in(known(tokenizer, "normalizer"), "type") == "NFC") return "command-r";
    const JsonValue* cleans = known(config, "clean_up_tokenization_spaces");
    if (cleans != nullptr && !is_truthy(cleans)) return "smollm";
  }
  return std::string(name);
}

}  // namespace

std::string_view pre_tokenizer_steps(std::string_view name) {
  // Several names have the same rules. A hash or other entries of the tokenizer select one.
  const std::string_view names = names_with_rules_of(name);
  const auto* found = find_by(kSignatures, &Signature::name, name);
  for (const Signature& each : kSignatures) {
    if (found == nullptr && has_word(names, each.name)) found = &each;
  }
  return found == nullptr ? std::string_view() : found->steps;
}

// Source: src/llama-vocab.cpp, names with ignore_merges.
bool pre_ignores_merges(std::string_view name) {
  return has_word(
      " llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken"
      " youtu ",
      name);
}

// Sources: tokenizer.json; transformers models/{cohere,gpt_neox}/tokenization_*.py, and
// Arcade100k's code (stablelm2).
bool pre_normalizes_to_nfc(std::string_view name) {
  return has_word("qwen2 qwen35 deepseek-r1-qwen command-r olmo stablelm2", name);
}

Result<std::string> recognize_pre_tokenizer(const JsonValue& tokenizer, const JsonValue& config,
                                            const TokenLists& lists,
                                            const std::vector<std::string>& merges) {
  std::vector<std::string> steps;
  if (const JsonValue* first = known(tokenizer, "pre_tokenizer")) append_steps(*first, steps);
  const std::string text = fmt::format("{}", fmt::join(steps, "\n"));
  for (const Signature& signature : kSignatures) {
    if (signature.steps != text) continue;
    const std::vector<uint8_t> pieces = check_pieces(signature.name);
    const auto hash = pieces.empty() ? std::nullopt : check_hash(tokenizer, lists, merges, pieces);
    const std::string_view published = hash ? name_of_hash(*hash) : std::string_view();
    if (!published.empty()) return std::string(published);
    return refine(signature.name, tokenizer, config);
  }
  if (text.starts_with(kDeepSeekLlm)) return std::string("deepseek-llm");
  return unsupported_hint("--tokenizer-pre NAME, with llama.cpp's name for these rules",
                          "tokenizer.json: pre-tokenizer not recognized; its rules are {}",
                          steps.empty() ? "empty" : fmt::format("'{}'", fmt::join(steps, "', '")));
}

}  // namespace ckpt
