#include "transforms/to_gguf/tokenizer/added.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"

namespace ckpt {
namespace {

constexpr const char* kKinds[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

// Sorted by id: if a file gives each token its id, tokens are added in this order.
using AddedList = std::map<uint64_t, TokenAddition>;

bool is_between(std::string_view text, std::string_view start, std::string_view end) {
  return text.starts_with(start) && text.ends_with(end);
}

// A token that a field names, as a text or an object; nullopt for other values and an empty text.
std::optional<TokenAddition> as_named(const JsonValue& entry) {
  const std::string* text = text_of_token(entry);
  if (text == nullptr || text->empty()) return std::nullopt;
  return entry.is_object() ? token_of_entry(entry, *text) : TokenAddition{*text, true, false};
}

class TokenAdder {
 public:
  // `vocabulary` must outlive this.
  explicit TokenAdder(const TokenLists& vocabulary) : vocabulary_(vocabulary) {}

  // Adds a token, or gives an existing token these flags.
  void add(const TokenAddition& token) {
    if (token.text.empty()) return;
    const uint64_t id = next_id(token.text);
    ids_[token.text] = id;
    last_ = std::max(last_, id);
    added_[id] = token;
  }
  // Makes a token special. An added token that is not in `listed` stays unchanged.
  void add_named(const TokenAddition& named, const std::set<std::string>& listed) {
    const uint64_t* found = find_mapped(ids_, named.text);
    if (found != nullptr && !listed.contains(named.text)) return;
    TokenAddition token = found == nullptr ? named : added_.at(*found);
    token.special = true;
    add(token);
  }
  const AddedList& added() const { return added_; }

  // The token's present or future id.
  uint64_t next_id(const std::string& text) const {
    if (const uint64_t* found = find_mapped(ids_, text)) return *found;
    if (const auto* found = vocabulary_.find(text)) {
      return whole(vocabulary_.id_value(*found)).value_or(0);
    }
    const uint64_t size = vocabulary_.tokens.size();
    const bool behind = !ids_.empty() && last_ >= size;
    return behind ? last_ + 1 : size;
  }
  bool is_in_vocabulary(const std::string& text) const { return vocabulary_.find(text) != nullptr; }

 private:
  const TokenLists& vocabulary_;
  std::map<std::string, uint64_t> ids_;
  AddedList added_;
  uint64_t last_ = 0;
};

// Adds the tokens of tokenizer.json in the order of its list; puts their ids into `by_number`. Some
// readers number the list (tokenizers), others keep the ids (Qwen's class of transformers 5), so
// this fails if they differ.
Status take_tokenizer(const JsonValue& tokenizer, TokenAdder& adder, AddedList& by_number) {
  CKPT_ASSIGN(const auto listed, listed_tokens(tokenizer));
  for (const auto& [number, token] : listed) {
    const uint64_t counted = adder.next_id(token.text);
    if (counted != number && !token.text.empty() && !adder.is_in_vocabulary(token.text)) {
      return unsupported_hint(kSourceTokenizer,
                              "tokenizer.json: added token '{}' has id {}, but {} by the order of "
                              "the list; programs give it different numbers",
                              token.text, number, counted);
    }
    adder.add(by_number[number] = token);
  }
  return {};
}

// Merges added_tokens.json, {text: id}; ids in tokenizer.json take precedence.
Status merge_text_table(const JsonValue& table, AddedList& list) {
  for (const auto& [text, id] : table.items()) {
    CKPT_ASSIGN(const uint64_t number, added_id(&id, "added_tokens.json", text));
    list.try_emplace(number, TokenAddition{text, false, true});
  }
  return {};
}

// Tokens that are named as BOS, EOS and so on, in the order in which they are added.
std::vector<TokenAddition> named_tokens(const JsonValue& config, const JsonValue& map) {
  std::vector<TokenAddition> out;
  const auto take = [&](const JsonValue* entry) {
    if (entry == nullptr) return;
    if (auto token = as_named(*entry)) out.push_back(std::move(*token));
  };
  for (const char* key : kKinds) {
    const JsonValue* mapped = known(map, key);
    take(mapped != nullptr ? mapped : known(config, key));
  }
  const JsonValue* lists[] = {known(config, "additional_special_tokens"),
                              known(config, "extra_special_tokens"),
                              known(map, "additional_special_tokens")};
  for (const JsonValue* list : lists) {
    if (list == nullptr || !(list->is_array() || list->is_object())) continue;
    for (const JsonValue& entry : *list) take(&entry);
  }
  return out;
}

Status collect(const Checkpoint& checkpoint, const JsonValue& tokenizer, const JsonValue& config,
               TokenAdder& adder) {
  AddedList list;
  JsonValue map;
  CKPT_TRY(take_tokenizer(tokenizer, adder, list));
  const JsonValue* table = known(config, "added_tokens_decoder");
  if (table != nullptr && table->is_object()) {
    CKPT_ASSIGN(list, decoder_tokens(config));
  } else {  // older versions wrote this instead of the table
    CKPT_ASSIGN(const auto named, read_object(checkpoint, "special_tokens_map.json"));
    CKPT_ASSIGN(const auto texts, read_object(checkpoint, "added_tokens.json"));
    if (named) map = *named;
    if (texts) CKPT_TRY(merge_text_table(*texts, list));
  }
  std::set<std::string> listed;
  for (const auto& [id, token] : list) {
    adder.add(token);
    listed.insert(token.text);
  }
  for (const TokenAddition& token : named_tokens(config, map)) adder.add_named(token, listed);
  return {};
}

Result<AddedList> all_added(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                            const JsonValue& config) {
  CKPT_ASSIGN(const auto lists, token_lists_of(checkpoint));
  TokenAdder adder(*lists);
  CKPT_TRY(collect(checkpoint, tokenizer, config, adder));
  return adder.added();
}

}  // namespace

TokenAddition token_of_entry(const JsonValue& entry, std::string text) {
  const auto has = [&](std::string_view flag) { return is_truthy(known(entry, flag)); };
  const bool is_unsaid = known(entry, "normalized") == nullptr;
  return {std::move(text), has("special"), is_unsaid ? !has("special") : has("normalized"),
          has("lstrip"),   has("rstrip"),  has("single_word")};
}

Result<std::shared_ptr<const TokenLists>> token_lists_of(const Checkpoint& checkpoint) {
  const Document* document = checkpoint.find_document(kTokenizerJson);
  if (document == nullptr) return std::make_shared<const TokenLists>();
  return document->token_lists();
}

Result<uint64_t> added_id(const JsonValue* id, const char* file, std::string_view text) {
  const auto value = whole(id);
  if (value && *value < kMaxTokens) return *value;
  return corrupt("{}: token '{}' has id {}; expected 0 to {}", file, text,
                 id == nullptr ? "none" : id->dump(), kMaxTokens - 1);
}

std::optional<uint64_t> id_of_key(std::string_view key) {
  return key.size() <= 9 ? number_from<uint64_t>(key) : std::nullopt;
}

Result<ListedTokens> listed_tokens(const JsonValue& tokenizer) {
  ListedTokens out;
  for (const JsonValue& entry : list_in(tokenizer, "added_tokens")) {
    const std::string* text = text_of(entry, "content");
    const JsonValue* id = member(entry, "id");
    if (text == nullptr || id == nullptr) {
      return corrupt("tokenizer.json: an added token without content or id");
    }
    CKPT_ASSIGN(const uint64_t number, added_id(id, "tokenizer.json", *text));
    out.emplace_back(number, token_of_entry(entry, *text));
  }
  return out;
}

Result<std::map<uint64_t, TokenAddition>> decoder_tokens(const JsonValue& config) {
  std::map<uint64_t, TokenAddition> out;
  for (const auto& [key, entry] : object_in(config, "added_tokens_decoder").items()) {
    const auto id = id_of_key(key);
    const std::string* text = text_of(entry, "content");
    if (!id || text == nullptr || !out.emplace(*id, token_of_entry(entry, *text)).second) {
      return corrupt(
          "tokenizer_config.json: added_tokens_decoder has '{}'; expected an id, once, and its "
          "token",
          key);
    }
    const JsonValue number(*id);
    CKPT_TRY(added_id(&number, "tokenizer_config.json", *text));
  }
  return out;
}

bool looks_special(std::string_view text) {
  return text == "<pad>" || text == "<mask>" || text == "<2mass>" || text == "[@BOS@]" ||
         is_between(text, "<|", "|>") || is_between(text, "<｜", "｜>") ||
         is_between(text, "<unused", ">");
}

std::string with_spaces(std::string_view text) { return replace_all(text, "\xe2\x96\x81", " "); }

Result<VocabularyTokens> added_tokens(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                      const JsonValue& config) {
  CKPT_ASSIGN(const auto added, all_added(checkpoint, tokenizer, config));
  const bool clean_up = is_truthy(known(config, "clean_up_tokenization_spaces"));
  VocabularyTokens out;
  for (const auto& [id, token] : added) {
    std::string text = token.text;
    if (!token.normalized) {
      CKPT_ASSIGN(text, decode_added_token(text, known(tokenizer, "decoder"), clean_up));
    }
    const bool control = token.special || looks_special(text);
    if (!control) text = with_spaces(text);
    out.push_back({id, {std::move(text), control ? TokenType::kControl : TokenType::kUserDefined}});
  }
  return out;
}

Result<VocabularyTokens> added_texts(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                     const JsonValue& config) {
  CKPT_ASSIGN(const auto added, all_added(checkpoint, tokenizer, config));
  VocabularyTokens out;
  for (const auto& [id, token] : added) out.push_back({id, {token.text, TokenType::kNormal}});
  return out;
}

}  // namespace ckpt
