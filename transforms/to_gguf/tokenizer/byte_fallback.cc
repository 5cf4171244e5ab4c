// Tokens of a tokenizer.json whose BPE falls back to bytes, which represents a SentencePiece model
// without tokenizer.model (llama.cpp gguf-py/gguf/vocab.py LlamaHfVocab).
//
//   model.vocab             ─▶ -1000, <0x0A>: byte; a special token: control; else normal
//   added tokens after it   ─▶ -1000, a special token: control; else user-defined
//
// Special tokens are those that tokenizer_config.json names (transformers 5.17
// tokenization_utils_base.py), whatever their entries among the added tokens say. vocab_size is
// ignored, so there is no filling after the last token.
//
// How llama.cpp computes the ids of SentencePiece's BPE in a tokenizer.json:
//
// llama.cpp (src/llama-vocab.cpp, llm_tokenizer_spm) joins the two neighbors whose joined text has
// the highest score, the leftmost pair first; the library tokenizers joins the pair whose merge is
// listed first. So a token's score is the negative position of the first merge that makes it:
//
//   merges  "▁ t"  "i n"  "▁t h" ...   ─▶   "▁t" 0   "in" -1   "▁th" -2   others kNeverMerged
//
// Tokens that are searched for before a text is split are control or user-defined in llama.cpp;
// here they are the added tokens.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/json/json_read.h"
#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/gaps.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

constexpr float kFillingScore = -10000.0f;  // of the tokens with which the converter fills

// Tokens that llama.cpp joins in another order than the merges, because it joins any two neighbors
// that make a token, with a single priority per token.
struct MergeOrder {
  uint64_t unlisted = 0;   // tokens with a split that no merge lists
  uint64_t scattered = 0;  // tokens whose merges are not adjacent
  std::string first;       // first token of either kind
};

// Describes the tokens; empty if there are none.
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

// Counts the splits of each token into two tokens. Looks up many texts together.
class SplitCount {
 public:
  SplitCount(const TextIndex& ids, size_t tokens) : ids_(ids), splits_(tokens) {}

  void add(uint32_t id, std::string_view text) {
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) continue;  // inside a character
      left_.push_back({id, text.substr(0, cut), text.substr(cut)});
      if (left_.size() == TextIndex::kAtOnce) resolve_left();
    }
  }
  const std::vector<uint32_t>& finish() {
    resolve_left();
    resolve_right();
    return splits_;
  }

 private:
  struct Split {
    uint32_t id;
    std::string_view text, rest;  // text to look up, and the rest
  };

  // Keeps the splits whose text is a token.
  void keep_tokens(std::vector<Split>& splits) {
    std::array<std::string_view, TextIndex::kAtOnce> texts;
    std::array<uint32_t, TextIndex::kAtOnce> places;
    for (size_t i = 0; i < splits.size(); ++i) texts[i] = splits[i].text;
    ids_.find_all(std::span(texts).first(splits.size()), std::span(places).first(splits.size()));
    size_t i = 0;
    std::erase_if(splits, [&](const Split&) { return places[i++] == TextIndex::kNone; });
  }
  void resolve_left() {
    keep_tokens(left_);
    for (const Split& split : left_) {
      right_.push_back({split.id, split.rest, {}});
      if (right_.size() == TextIndex::kAtOnce) resolve_right();
    }
    left_.clear();
  }
  void resolve_right() {
    keep_tokens(right_);
    for (const Split& split : right_) ++splits_[split.id];
    right_.clear();
  }

  const TextIndex& ids_;
  std::vector<uint32_t> splits_;
  std::vector<Split> left_, right_;
};

// Sets `made` to the text that a merge makes; returns false if the merge is not a pair.
bool join_merge(const TokenLists::Merge& merge, std::string& made) {
  const auto has_space = [](std::string_view text) { return text.find(' ') != text.npos; };
  if (merge.is_pair() && !has_space(merge.left) && !has_space(merge.right)) {
    made.assign(merge.left).append(merge.right);
    return !merge.left.empty();
  }
  const std::string text = merge_text(merge);
  const size_t space = text.find(' ', 1);
  if (space == text.npos) return false;
  made.assign(text, 0, space).append(text, space + 1);
  return true;
}

// The tokens that merges make, in the order of merges; kNone if a merge makes none.
std::vector<uint32_t> made_tokens(const std::vector<TokenLists::Merge>& merges,
                                  const TextIndex& ids) {
  std::array<std::string, TextIndex::kAtOnce> made;
  std::vector<uint32_t> out(merges.size());
  for (size_t start = 0; start < merges.size(); start += TextIndex::kAtOnce) {
    const size_t count = std::min(TextIndex::kAtOnce, merges.size() - start);
    for (size_t i = 0; i < count; ++i) {
      if (!join_merge(merges[start + i], made[i])) made[i].clear();
    }
    std::array<std::string_view, TextIndex::kAtOnce> texts;
    std::copy(made.begin(), made.end(), texts.begin());
    ids.find_all(std::span(texts).first(count), std::span(out).subspan(start, count));
  }
  return out;
}

// Gives each token the position of its first merge; returns the deviation from the merges' order.
MergeOrder give_places(const std::vector<TokenLists::Merge>& merges, const TextIndex& ids,
                       Vocabulary& vocabulary) {
  std::vector<uint32_t> listed(vocabulary.tokens.size());
  std::vector<bool> is_scattered(vocabulary.tokens.size());
  uint32_t last = TextIndex::kNone;
  uint32_t place = 0;
  for (const uint32_t id : made_tokens(merges, ids)) {
    if (id == TextIndex::kNone) continue;
    if (listed[id]++ == 0) {
      vocabulary.scores[id] = 0.0f - static_cast<float>(place++);
    } else if (last != id) {
      is_scattered[id] = true;
    }
    last = id;
  }
  const auto is_normal = [&](size_t id) {
    return vocabulary.types[id] == static_cast<int32_t>(TokenType::kNormal);
  };
  SplitCount count(ids, vocabulary.tokens.size());
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (is_normal(id) && listed[id] != 0) count.add(id, vocabulary.tokens[id]);
  }
  const std::vector<uint32_t>& splits = count.finish();
  MergeOrder out;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!is_normal(id)) continue;
    const bool is_unlisted = splits[id] > listed[id];
    if (listed[id] == 0) vocabulary.scores[id] = kNeverMergedScore;
    out.unlisted += is_unlisted ? 1u : 0u;
    out.scattered += is_scattered[id] ? 1u : 0u;
    if (out.first.empty() && (is_unlisted || is_scattered[id])) out.first = vocabulary.tokens[id];
  }
  return out;
}

constexpr float kScore = -1000.0f;

// Names that a class supplies if the configuration has none.
std::map<std::string, std::string> default_tokens(const JsonValue& config) {
  const std::string_view name = text_in(config, "tokenizer_class");
  if (name.starts_with("GemmaTokenizer")) {
    return {{"unk_token", "<unk>"},
            {"bos_token", "<bos>"},
            {"eos_token", "<eos>"},
            {"pad_token", "<pad>"},
            {"mask_token", "<mask>"}};
  }
  if (name.starts_with("LlamaTokenizer")) {
    return {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  }
  return {};
}

void take_named(const JsonValue& file, std::map<std::string, std::string>& named) {
  for (const auto& [key, entry] : file.items()) {
    if (!key.ends_with("_token")) continue;
    const std::string* text = text_of_token(entry);
    if (text != nullptr) named[key] = *text;
    if (entry.is_null()) named.erase(key);
  }
  int count = 0;
  for (const char* list : {"additional_special_tokens", "extra_special_tokens"}) {
    const JsonValue* entries = known(file, list);
    if (entries == nullptr || !(entries->is_array() || entries->is_object())) continue;
    for (const JsonValue& entry : *entries) {
      const std::string* text = text_of_token(entry);
      if (text != nullptr) named[fmt::format("{} {}", list, count++)] = *text;
    }
  }
}

Result<std::set<std::string>> special_texts(const Checkpoint& checkpoint, const JsonValue& config) {
  std::map<std::string, std::string> named = default_tokens(config);
  take_named(config, named);
  if (known(config, "added_tokens_decoder") == nullptr) {  // a file of older versions
    CKPT_ASSIGN(const auto map, read_object(checkpoint, "special_tokens_map.json"));
    if (map) take_named(*map, named);
  }
  std::set<std::string> out;
  for (const auto& [key, text] : named) out.insert(text);
  return out;
}

bool is_byte_token(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>' &&
         text.substr(3, 2).find_first_not_of("0123456789ABCDEFabcdef") == text.npos;
}

}  // namespace

bool has_byte_fallback(const JsonValue& tokenizer) {
  const JsonValue* model = known(tokenizer, "model");
  return text_in(model, "type") == "BPE" && is_truthy(known(model, "byte_fallback")) &&
         text_in(known(tokenizer, "decoder"), "type") == "Sequence";
}

Result<Vocabulary> read_byte_fallback(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config) {
  CKPT_ASSIGN(const std::set<std::string> special, special_texts(checkpoint, config));
  CKPT_ASSIGN(TokenTexts texts, token_texts(checkpoint, tokenizer, config));
  Vocabulary out;
  for (auto& [id, token] : texts.by_id) {
    std::string& text = token.text;
    const bool is_added = id >= texts.base_count;
    if (out.tokens.size() < texts.base_count && id != out.tokens.size()) {
      return corrupt("tokenizer.json: {} tokens, none of which has id {}", texts.base_count,
                     out.tokens.size());
    }
    const TokenType otherwise = is_added ? TokenType::kUserDefined : TokenType::kNormal;
    TokenType type = special.contains(text) ? TokenType::kControl : otherwise;
    if (!is_added && is_byte_token(text)) type = TokenType::kByte;
    out.tokens.push_back(std::move(text));
    out.types.push_back(static_cast<int32_t>(type));
    out.scores.push_back(kScore);
  }
  return out;
}

void give_added_types(const JsonValue& tokenizer, const TextIndex& ids, Vocabulary& vocabulary) {
  for (const JsonValue& entry : list_in(tokenizer, "added_tokens")) {
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

void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary) {
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (std::ranges::find(shown, vocabulary.tokens[i]) != shown.end()) {
      vocabulary.types[i] = static_cast<int32_t>(TokenType::kUserDefined);
    }
  }
}

Status follow_source(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                     const TokenizerOptions& options, const Context& context,
                     Vocabulary& vocabulary) {
  CKPT_ASSIGN(const auto lists, token_lists_of(checkpoint));
  CKPT_TRY(check_merges(*lists));
  CKPT_ASSIGN(const uint64_t size, token_count(vocabulary.tokens.size(), options));
  {
    const TextIndex ids(vocabulary.tokens);
    give_added_types(tokenizer, ids, vocabulary);
    const MergeOrder order = give_places(lists->merges, ids, vocabulary);
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

bool follow_prefix(const JsonValue& tokenizer, bool as_converter, Metadata& metadata) {
  const std::string* model = metadata.find_text("tokenizer.ggml.model");
  const bool wanted = puts_space_in_front(tokenizer);
  const bool has_pieces = !tokenizer.is_null() && *model == "llama";
  if (!has_pieces || adds_space_prefix(metadata) == wanted) return false;
  if (!as_converter) metadata.set(kSpacePrefixKey, MetaValue::boolean(wanted));
  return true;
}

}  // namespace ckpt
