// Checks that tokenizer.json has the form that the library "tokenizers" accepts.
//
// Source: tokenizers src/tokenizer/serialization.rs, src/tokenizer/added_vocabulary.rs,
// src/models/bpe/serialization.rs and the wrappers of each kind of part, release 0.22.
// An unknown key ends the reading, where JSON readers would ignore it; a merge must name pieces of
// the vocabulary, and its result must be one too.
#include <algorithm>
#include <map>

#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "core/model/token_lists.h"

namespace ckpt {
namespace {

using Faults = std::vector<TokenizerFault>;

void check_added(const JsonValue& tokens, Faults& out) {
  const std::string place = "tokenizer.json: added_tokens";
  if (!tokens.is_array()) {
    return out.push_back({place, fmt::format("a JSON {}; expected a list", tokens.type_name())});
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    const JsonValue* id = member(tokens[i], "id");
    std::string_view wrong = id == nullptr || !is_token_id(*id) ? "id" : "";
    if (text_of(tokens[i], "content") == nullptr) wrong = "content";
    for (const std::string_view key :
         {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      const JsonValue* value = member(tokens[i], key);
      if (value == nullptr || !value->is_boolean()) wrong = key;
    }
    if (wrong.empty()) continue;
    return out.push_back(
        {fmt::format("{}[{}]", place, i), fmt::format("no {}, or not of its type", wrong)});
  }
}

using MergePieces = std::pair<std::string_view, std::string_view>;

// The two pieces that a merge joins; nullopt if it does not consist of two.
std::optional<MergePieces> pieces(const TokenLists::Merge& merge) {
  if (merge.is_pair()) return MergePieces(merge.left, merge.right);
  const size_t blank = merge.left.find(' ');
  if (blank == merge.left.npos || merge.left.find(' ', blank + 1) != merge.left.npos) {
    return std::nullopt;
  }
  return MergePieces(merge.left.substr(0, blank), merge.left.substr(blank + 1));
}

// Looks up pieces and the results of merges, several merges at a time.
class MergeLookup {
 public:
  MergeLookup(const TextIndex& vocabulary, size_t prefix_size, Faults& out)
      : vocabulary_(vocabulary), prefix_size_(prefix_size), out_(out) {}

  // Returns false once a fault is found.
  bool add(size_t merge, const MergePieces& pieces) {
    if (count_ + 3 > TextIndex::kAtOnce && !finish()) return false;
    const auto [left, right] = pieces;
    put(merge, left);
    put(merge, right);
    std::string& joined = joined_[made_];
    joined.assign(left).append(right.substr(std::min(prefix_size_, right.size())));
    // Merges with the same result are usually adjacent.
    if (made_ != 0 && joined == joined_[made_ - 1]) return true;
    put(merge, joined);
    ++made_;
    return true;
  }
  bool finish() {
    const size_t texts = std::exchange(count_, 0);
    made_ = 0;
    vocabulary_.find_all(std::span(texts_).first(texts), std::span(places_).first(texts));
    for (size_t i = 0; i < texts; ++i) {
      if (places_[i] != TextIndex::kNone) continue;
      out_.push_back({fmt::format("tokenizer.json: model.merges[{}]", merges_[i]),
                      fmt::format("'{}' is not in the vocabulary", texts_[i])});
      return false;
    }
    return true;
  }

 private:
  template <class T>
  using BatchArray = std::array<T, TextIndex::kAtOnce>;

  void put(size_t merge, std::string_view text) {
    merges_[count_] = merge;
    texts_[count_++] = text;
  }

  const TextIndex& vocabulary_;
  size_t prefix_size_;
  Faults& out_;
  size_t count_ = 0, made_ = 0;
  BatchArray<size_t> merges_ = {};
  BatchArray<std::string> joined_;
  BatchArray<std::string_view> texts_;
  BatchArray<uint32_t> places_ = {};
};

void check_merge_list(const JsonValue& model, const TokenLists& lists, Faults& out) {
  const std::string place = "tokenizer.json: model.merges";
  if (!lists.has_merges) return out.push_back({place, "missing, or no list"});
  const std::string* prefix = text_of(model, "continuing_subword_prefix");
  MergeLookup lookup(lists.index, prefix == nullptr ? 0 : prefix->size(), out);
  for (size_t i = 0; i < lists.merges.size(); ++i) {
    const TokenLists::Merge& merge = lists.merges[i];
    const auto parts = pieces(merge);
    if (!parts || merge.is_pair() != lists.merges.front().is_pair()) {
      if (merge.is_text() && merge.left.starts_with("#version")) continue;
      if (!lookup.finish()) return;
      return out.push_back(
          {fmt::format("{}[{}]", place, i), "is not made of two pieces, as the others"});
    }
    if (!lookup.add(i, *parts)) return;
  }
  lookup.finish();
}

void check_model(const JsonValue* model, const TokenLists& lists, Faults& out) {
  const std::string place = "tokenizer.json: model";
  if (model == nullptr || !model->is_object()) {
    return out.push_back({place, "missing, or no object"});
  }
  const std::string* type = text_of(*model, "type");
  const bool is_unigram = type != nullptr && *type == "Unigram";
  using Vocabulary = TokenLists::Vocabulary;
  const bool is_object = lists.vocabulary == Vocabulary::kNumbers;
  if (lists.vocabulary == Vocabulary::kNone ||
      (is_unigram ? is_object : type != nullptr && !is_object)) {
    return out.push_back({place + ".vocab", "missing, or of another type"});
  }
  if (!is_object) return;
  for (const TokenLists::Token& token : lists.tokens) {
    if (token.id != TokenLists::kOddId) continue;
    const JsonValue id = lists.id_value(token);
    if (is_token_id(id)) continue;
    return out.push_back({fmt::format("{}.vocab: '{}'", place, token.text),
                          fmt::format("{}; expected a whole number", id.dump())});
  }
  if (type != nullptr && *type == "BPE") check_merge_list(*model, lists, out);
}

// Whether 4.57 rebuilds Llama's tokenizer from tokenizer.model and never reads tokenizer.json, as
// it does if add_prefix_space is set. Source: transformers 4.57.6
// models/llama/tokenization_llama_fast.py.
bool is_made_of_model(const CheckContext& context) {
  const JsonValue& config = context.on.tokenizer_config;
  const std::string* name = text_of(config, "tokenizer_class");
  return context.profile.has_transformers_4() && name != nullptr &&
         (*name == "LlamaTokenizer" || *name == "LlamaTokenizerFast") &&
         known(config, "add_prefix_space") != nullptr && context.on.has_document("tokenizer.model");
}

void check_schema(const CheckContext& context) {
  if (is_made_of_model(context)) return;
  for (const TokenizerFault& fault : context.on.tokenizer_faults()) {
    context.report(fault.place, fault.found);
  }
  // Source: transformers 5 src/transformers/tokenization_utils_tokenizers.py; the library itself
  // accepts the file.
  const JsonValue& tokenizer = context.on.tokenizer;
  const bool reads_added =
      !context.profile.has_transformers_4() && !context.profile.runs_llama_server();
  if (reads_added && tokenizer.is_object() && member(tokenizer, "added_tokens") == nullptr) {
    context.report("tokenizer.json: added_tokens", "missing; expected a list");
  }
}

// A token outside the vocabulary gets the next free number, in the order of the list; some classes
// of transformers 5 use its ID instead. Source: tokenizers src/tokenizer/added_vocabulary.rs
// (add_tokens).
void check_order(const CheckContext& context) {
  const JsonValue* list = known(context.on.tokenizer, "added_tokens");
  const TokenLists& lists = *context.on.token_lists;
  if (list == nullptr || !list->is_array() || !context.on.tokenizer_faults().empty()) return;
  if (lists.vocabulary != TokenLists::Vocabulary::kNumbers) return;
  std::map<std::string_view, uint64_t> added;
  uint64_t next = lists.tokens.size();
  for (const JsonValue& token : *list) {
    const std::string& text = *text_of(token, "content");
    const uint64_t stated = whole(token["id"]).value_or(0);
    if (const TokenLists::Token* found = lists.find(text)) {
      const uint64_t id = whole(lists.id_value(*found)).value_or(0);
      next = std::max(next, id + 1);
      continue;
    }
    const auto [place, is_new] = added.emplace(text, next);
    next += is_new ? 1 : 0;
    if (place->second == stated) continue;
    return context.tell(fmt::format("tokenizer.json: added_tokens: '{}'", text),
                        "ID {}, but {} by the order of the list", stated, place->second);
  }
}

// IDs far beyond the number of tokens are not compared.
void check_shared_ids(const CheckContext& context) {
  const auto& tokens = context.on.token_lists->tokens;
  std::vector<bool> is_seen(2 * tokens.size() + (size_t{1} << 16));
  for (const TokenLists::Token& token : tokens) {
    if (token.id >= is_seen.size()) continue;
    if (!is_seen[token.id]) {
      is_seen[token.id] = true;
      continue;
    }
    const auto first = std::ranges::find(tokens, token.id, &TokenLists::Token::id);
    return context.tell("tokenizer.json: model.vocab", "'{}' and '{}' both have ID {}", first->text,
                        token.text, token.id);
  }
}

constexpr Check kTokenizerSchemaChecks[] = {
    {"T14", "tokenizer.json has the form that tokenizers reads", "U: all",
     "data did not match any variant of untagged enum; missing field; Token out of vocabulary",
     "take tokenizer.json from the source model: --step tokenizer:from=DIR", check_schema},
    {"T20", "added tokens are in the order of their IDs", "S: all",
     "programs give the tokens different numbers",
     "take tokenizer.json from the source model: --step tokenizer:from=DIR", check_order},
    {"T23", "no two tokens have one ID", "S: llama.cpp, W: vllm* sglang tensorrt-llm transformers*",
     "a GGUF loses one of them; the other is decoded for both",
     "take tokenizer.json from the source model: --step tokenizer:from=DIR", check_shared_ids},
};

}  // namespace

std::vector<TokenizerFault> find_tokenizer_faults(const JsonValue& tokenizer,
                                                  const TokenLists& lists) {
  Faults out;
  if (tokenizer.is_null()) return out;
  for (const auto& [key, value] : tokenizer.items()) {
    if (has_word(kTokenizerMembers, key)) continue;
    out.push_back({fmt::format("tokenizer.json: {}", key), "a key that is not known"});
  }
  const JsonValue* version = member(tokenizer, "version");
  if (version != nullptr && *version != kTokenizerVersion) {
    out.push_back({"tokenizer.json: version",
                   fmt::format("{}; expected \"{}\"", version->dump(), kTokenizerVersion)});
  }
  if (const JsonValue* added = member(tokenizer, "added_tokens")) check_added(*added, out);
  find_part_faults(tokenizer, out);
  check_model(member(tokenizer, "model"), lists, out);
  return out;
}

std::span<const Check> tokenizer_schema_checks() { return kTokenizerSchemaChecks; }

}  // namespace ckpt
