// How llama.cpp comes to the ids of a tokenizer.json that is SentencePiece's BPE.
//
// llama.cpp (src/llama-vocab.cpp, llm_tokenizer_spm) joins the two neighbors whose text has the
// highest score, the leftmost of equal ones; the library tokenizers joins those whose merge comes
// first. So the score of a token is the place of the first merge that makes it:
//
//   merges  "▁ t"  "i n"  "▁t h" ...   ─▶   "▁t" 0   "in" -1   "▁th" -2   others kNeverMerged
//
// A token that a text is searched for before it is split is control or user-defined in llama.cpp;
// here those are the added tokens.
#include "transforms/to_gguf/tokenizer/source_rules.h"

#include "transforms/facts/text_index.h"

namespace ckpt {
namespace {

constexpr std::string_view kSpaceBar = "\xe2\x96\x81";  // U+2581
constexpr float kFillingScore = -10000.0f;  // as the converter fills up vocabularies of pieces
constexpr const char* kPrefixKey = "tokenizer.ggml.add_space_prefix";

void give_places(const std::vector<std::string>& merges, const TextIndex& ids,
                 Vocabulary& vocabulary) {
  std::vector<bool> has_place(vocabulary.tokens.size());
  uint32_t place = 0;
  std::string made;
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    if (space == merge.npos) continue;
    made.assign(merge, 0, space).append(merge, space + 1);
    const auto id = ids.find(made);
    if (!id || has_place[*id]) continue;
    has_place[*id] = true;
    vocabulary.scores[*id] = 0.0f - static_cast<float>(place++);
  }
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const bool is_normal = vocabulary.types[id] == static_cast<int32_t>(TokenType::kNormal);
    if (is_normal && !has_place[id]) vocabulary.scores[id] = kNeverMergedScore;
  }
}

// Special ones are control tokens; others user-defined, unless they have a type of their own.
void give_added_types(const JsonValue& tokenizer, const TextIndex& ids, Vocabulary& vocabulary) {
  const JsonValue* list = known(tokenizer, "added_tokens");
  if (list == nullptr || !list->is_array()) return;
  for (const JsonValue& entry : *list) {
    const std::string* text = text_of(entry, "content");
    const auto id = text == nullptr ? std::nullopt : ids.find(*text);
    if (!id) continue;
    int32_t& type = vocabulary.types[*id];
    if (is_truthy(known(entry, "special"))) {
      type = static_cast<int32_t>(TokenType::kControl);
    } else if (type == static_cast<int32_t>(TokenType::kNormal)) {
      type = static_cast<int32_t>(TokenType::kUserDefined);
    }
  }
}

bool is_text(const JsonValue* json, std::string_view text) {
  const auto* found = json == nullptr ? nullptr : json->get_ptr<const std::string*>();
  return found != nullptr && *found == text;
}

bool is_pattern(const JsonValue& step, std::string_view text) {
  const JsonValue* pattern = known(step, "pattern");
  return pattern != nullptr && is_text(known(*pattern, "String"), text);
}

// What the rules of tokenizer.json come to: a prefix, and steps that llama.cpp has not.
struct SourceRules {
  bool adds_prefix = false;
  bool only_first = false;  // not behind special tokens
  std::vector<std::string> others;
};

void read_rule(const JsonValue& step, SourceRules& out) {
  const std::string* type = text_of(step, "type");
  if (type == nullptr) return;
  for (const char* key : {"normalizers", "pretokenizers"}) {
    const JsonValue* inner = known(step, key);
    if (*type != "Sequence" || inner == nullptr || !inner->is_array()) continue;
    for (const JsonValue& one : *inner) read_rule(one, out);
  }
  if (*type == "Sequence") return;
  if (*type == "Prepend" && is_text(known(step, "prepend"), kSpaceBar)) {
    out.adds_prefix = true;
    return;
  }
  if (*type == "Metaspace") {
    const JsonValue* scheme = known(step, "prepend_scheme");
    const JsonValue* older = known(step, "add_prefix_space");
    const bool is_off =
        scheme != nullptr ? is_text(scheme, "never") : older != nullptr && !is_truthy(older);
    out.adds_prefix = out.adds_prefix || !is_off;
    out.only_first = is_text(scheme, "first");
    return;
  }
  if (*type == "Replace" && is_pattern(step, " ") && is_text(known(step, "content"), kSpaceBar))
    return;
  if (*type == "Split" && is_pattern(step, " ")) return;  // no space is left to split at
  out.others.push_back(*type);
}

SourceRules source_rules_of(const JsonValue& tokenizer) {
  SourceRules out;
  for (const char* key : {"normalizer", "pre_tokenizer"}) {
    if (const JsonValue* rule = known(tokenizer, key)) read_rule(*rule, out);
  }
  return out;
}

}  // namespace

Status follow_source(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                     const TokenizerOptions& options, Vocabulary& vocabulary) {
  CKPT_ASSIGN(const std::vector<std::string> merges, read_merges(checkpoint, tokenizer));
  CKPT_ASSIGN(const uint64_t size, token_count(vocabulary.tokens.size(), options));
  {
    const TextIndex ids(vocabulary.tokens);
    give_added_types(tokenizer, ids, vocabulary);
    give_places(merges, ids, vocabulary);
  }
  for (size_t id = vocabulary.tokens.size(); id < size; ++id) {
    vocabulary.tokens.push_back(fmt::format("[PAD{}]", id));
    vocabulary.types.push_back(static_cast<int32_t>(TokenType::kUnused));
    vocabulary.scores.push_back(kFillingScore);
  }
  return {};
}

void add_source_prefix(const JsonValue& tokenizer, const Context& context, Metadata& metadata) {
  const SourceRules rules = source_rules_of(tokenizer);
  const MetaValue* said = metadata.find(kPrefixKey);
  const bool now = said == nullptr || *said == MetaValue::boolean(true);  // llama.cpp's default
  if (now != rules.adds_prefix) metadata.set(kPrefixKey, MetaValue::boolean(rules.adds_prefix));
  context.note(
      "the vocabulary follows tokenizer.json, because tokenizer.model is missing: scores by the "
      "order of its merges. --tokenizer-as converter writes the vocabulary of llama.cpp's "
      "converter, which splits texts differently");
  if (rules.adds_prefix && rules.only_first) {
    context.note(
        "llama.cpp puts a space behind each special token, tokenizer.json only at the beginning "
        "of a text");
  }
  for (const std::string& type : rules.others) {
    context.note(fmt::format(
        "tokenizer.json: {} is a rule that llama.cpp does not have; texts that it changes are "
        "split differently",
        type));
  }
}

}  // namespace ckpt
