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

#include "core/base/text_index.h"
#include "transforms/to_gguf/tokenizer/gaps.h"

namespace ckpt {
namespace {

constexpr float kFillingScore = -10000.0f;  // as the converter fills up vocabularies of pieces

// Tokens that llama.cpp joins in another order than the merges do: it joins any two neighbors that
// make a token, at the token's one place.
struct MergeOrder {
  uint64_t unlisted = 0;   // with a split that no merge lists
  uint64_t scattered = 0;  // with merges that do not follow each other
  std::string first;       // of either kind
};

// Empty: none.
std::string gap_of(const MergeOrder& order) {
  const auto part = [](uint64_t count, std::string_view what) {
    return count == 0 ? std::string() : fmt::format("{} of its tokens {}", count, what);
  };
  const std::string a = part(order.unlisted, "can be split in a way that no merge lists");
  const std::string b = part(order.scattered, "have merges apart from each other");
  if (a.empty() && b.empty()) return {};
  return fmt::format("{}{}{}, the first '{}'; llama.cpp joins them in another order", a,
                     a.empty() || b.empty() ? "" : " and ", b, order.first);
}

// Splits of a token into two others.
uint64_t splits_of(std::string_view text, const TextIndex& ids) {
  uint64_t count = 0;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    if ((static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) continue;  // inside a character
    count += ids.find(text.substr(0, cut)) && ids.find(text.substr(cut)) ? 1u : 0u;
  }
  return count;
}

// Gives each token the place of its first merge; returns how far that is from the order of merges.
MergeOrder give_places(const std::vector<std::string>& merges, const TextIndex& ids,
                       Vocabulary& vocabulary) {
  std::vector<uint32_t> listed(vocabulary.tokens.size());
  std::vector<bool> is_scattered(vocabulary.tokens.size());
  MergeOrder out;
  std::optional<uint32_t> last;
  uint32_t place = 0;
  std::string made;
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    if (space == merge.npos) continue;
    made.assign(merge, 0, space).append(merge, space + 1);
    const auto id = ids.find(made);
    if (!id) continue;
    if (listed[*id]++ == 0) {
      vocabulary.scores[*id] = 0.0f - static_cast<float>(place++);
    } else if (last != id) {
      is_scattered[*id] = true;
    }
    last = id;
  }
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] != static_cast<int32_t>(TokenType::kNormal)) continue;
    const std::string& text = vocabulary.tokens[id];
    const bool is_unlisted = listed[id] != 0 && splits_of(text, ids) > listed[id];
    if (listed[id] == 0) vocabulary.scores[id] = kNeverMergedScore;
    out.unlisted += is_unlisted ? 1u : 0u;
    out.scattered += is_scattered[id] ? 1u : 0u;
    if (out.first.empty() && (is_unlisted || is_scattered[id])) out.first = text;
  }
  return out;
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

}  // namespace

Status follow_source(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                     const TokenizerOptions& options, const Context& context,
                     Vocabulary& vocabulary) {
  CKPT_ASSIGN(const std::vector<std::string> merges, read_merges(checkpoint, tokenizer));
  CKPT_ASSIGN(const uint64_t size, token_count(vocabulary.tokens.size(), options));
  {
    const TextIndex ids(vocabulary.tokens);
    give_added_types(tokenizer, ids, vocabulary);
    const MergeOrder order = give_places(merges, ids, vocabulary);
    if (const std::string gap = gap_of(order); !gap.empty()) {
      context.note("tokenizer.json: model.merges: " + gap);
    }
  }
  for (size_t id = vocabulary.tokens.size(); id < size; ++id) {
    vocabulary.tokens.push_back(fmt::format("[PAD{}]", id));
    vocabulary.types.push_back(static_cast<int32_t>(TokenType::kUnused));
    vocabulary.scores.push_back(kFillingScore);
  }
  return {};
}

void add_source_prefix(const JsonValue& tokenizer, const Context& context, Metadata& metadata) {
  const bool wanted = puts_space_in_front(tokenizer);
  if (adds_space_prefix(metadata) != wanted) {
    metadata.set(kSpacePrefixKey, MetaValue::boolean(wanted));
  }
  context.note(
      "the vocabulary follows tokenizer.json, because tokenizer.model is missing: scores by the "
      "order of its merges. --tokenizer-as converter writes the vocabulary of llama.cpp's "
      "converter, which splits texts differently");
}

}  // namespace ckpt
