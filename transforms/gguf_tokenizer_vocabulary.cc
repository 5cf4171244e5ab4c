// Tokens, their types and merges (llama.cpp conversion/base.py get_vocab_base,
// gguf-py/gguf/vocab.py _try_load_from_tokenizer_json, _try_load_merges_txt).
//
// What a reader would get wrong: a token is CONTROL when it is marked special or when it only looks
// so ("<|...|>"); ids that no token has are filled up to vocab_size.
#include <algorithm>
#include <map>

#include "transforms/gguf_tokenizer_parts.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxTokens = 16'000'000;

bool is_between(std::string_view text, std::string_view start, std::string_view end) {
  return text.starts_with(start) && text.ends_with(end);
}

bool looks_special(std::string_view text) {
  return text == "<pad>" || text == "<mask>" || text == "<2mass>" || text == "[@BOS@]" ||
         is_between(text, "<|", "|>") || is_between(text, "<｜", "｜>") ||
         is_between(text, "<unused", ">");
}

// U+2581, by which SentencePiece stands for a space.
std::string with_spaces(std::string_view text) {
  constexpr std::string_view kBar = "\xe2\x96\x81";
  std::string out;
  while (!text.empty()) {
    const bool is_bar = text.starts_with(kBar);
    out += is_bar ? ' ' : text[0];
    text.remove_prefix(is_bar ? kBar.size() : 1);
  }
  return out;
}

struct Token {
  std::string text;
  TokenType type;
};
using Tokens = std::map<uint64_t, Token>;

TokenType added_type(const std::string& text, bool special) {
  return special || looks_special(text) ? TokenType::kControl : TokenType::kUserDefined;
}

Result<uint64_t> token_id(const JsonValue& id, std::string_view text) {
  const auto value = whole(id);
  if (!value || *value >= kMaxTokens) {
    return fail(ErrorCode::kCorrupt, "tokenizer.json: token '{}' has id {}; expected 0 to {}", text,
                id.dump(), kMaxTokens - 1);
  }
  return *value;
}

Result<Tokens> base_tokens(const JsonValue& tokenizer) {
  const JsonValue* model = known(tokenizer, "model");
  const JsonValue* vocab = model == nullptr ? nullptr : known(*model, "vocab");
  if (vocab == nullptr || !vocab->is_object()) {
    return fail(ErrorCode::kCorrupt, "tokenizer.json: no model.vocab");
  }
  Tokens out;
  for (const auto& [text, id] : vocab->items()) {
    CKPT_ASSIGN(const uint64_t number, token_id(id, text));
    out[number] = {text, TokenType::kNormal};
  }
  return out;
}

// Adds one of the added tokens; an id of 0 or more is where it is said to be.
class AddedTokens {
 public:
  explicit AddedTokens(Tokens& tokens) : tokens_(tokens) {
    for (const auto& [id, token] : tokens) ids_.emplace(token.text, id);
  }

  void add(uint64_t id, const std::string& text, bool special) {
    const auto known_id = ids_.find(text);
    if (known_id != ids_.end()) id = known_id->second;
    tokens_[id] = {text, added_type(text, special)};
    ids_[text] = id;
  }
  // A token that is named, with no id of its own: special from now on. One that is new comes behind
  // the last.
  void name_special(const std::string& text) {
    if (text.empty()) return;
    add(tokens_.empty() ? 0 : tokens_.rbegin()->first + 1, text, true);
  }

 private:
  Tokens& tokens_;
  std::map<std::string, uint64_t> ids_;
};

Status take_added(const JsonValue& tokenizer, AddedTokens& added) {
  const JsonValue* list = known(tokenizer, "added_tokens");
  if (list == nullptr || !list->is_array()) return {};
  for (const JsonValue& entry : *list) {
    const std::string* text = text_of(entry, "content");
    const JsonValue* id = member(entry, "id");
    if (text == nullptr || id == nullptr) {
      return fail(ErrorCode::kCorrupt, "tokenizer.json: an added token without content or id");
    }
    CKPT_ASSIGN(const uint64_t number, token_id(*id, *text));
    added.add(number, *text, is_truthy(known(entry, "special")));
  }
  return {};
}

// tokenizer_config.json repeats the added tokens, by their ids as texts.
Status take_decoder(const JsonValue& config, AddedTokens& added) {
  const JsonValue* decoder = known(config, "added_tokens_decoder");
  if (decoder == nullptr || !decoder->is_object()) return {};
  for (const auto& [key, entry] : decoder->items()) {
    const std::string* text = text_of(entry, "content");
    const bool is_number =
        !key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (text == nullptr || !is_number) {
      return fail(ErrorCode::kCorrupt,
                  "tokenizer_config.json: added_tokens_decoder has '{}'; expected an id and its "
                  "token",
                  key);
    }
    CKPT_ASSIGN(const uint64_t number, token_id(JsonValue(std::stoull(key)), *text));
    added.add(number, *text, is_truthy(known(entry, "special")));
  }
  return {};
}

const std::string* named_text(const JsonValue& entry) {
  if (entry.is_object()) return text_of(entry, "content");
  return entry.get_ptr<const std::string*>();
}

void take_named(const JsonValue& config, AddedTokens& added) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token"}) {
    const JsonValue* entry = known(config, key);
    const std::string* text = entry == nullptr ? nullptr : named_text(*entry);
    if (text != nullptr) added.name_special(*text);
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const JsonValue* list = known(config, key);
    if (list == nullptr || !(list->is_array() || list->is_object())) continue;
    for (const JsonValue& entry : *list) {
      if (const std::string* text = named_text(entry)) added.name_special(*text);
    }
  }
}

std::string join_pair(const std::string& left, const std::string& right) {
  std::string out;
  for (const std::string* part : {&left, &right}) {
    if (!out.empty()) out += ' ';
    for (const char c : *part) {
      if (c == ' ') {
        out += "\xc4\xa0";  // U+0120, byte-level BPE's space
      } else {
        out += c;
      }
    }
  }
  return out;
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r\f\v", at)) != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(" \t\r\f\v", at), line.size());
    out.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

std::vector<std::string> merges_of_text(std::string_view text) {
  std::vector<std::string> out;
  for (bool first = true; !text.empty(); first = false) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::vector<std::string> parts = words(line);
    const bool is_comment = first && !parts.empty() && parts[0].starts_with('#');
    if (parts.size() == 2 && !is_comment) out.push_back(parts[0] + " " + parts[1]);
  }
  return out;
}

}  // namespace

Result<Vocabulary> read_vocabulary(const JsonValue& tokenizer, const JsonValue& config,
                                   uint64_t vocab_size) {
  CKPT_ASSIGN(Tokens tokens, base_tokens(tokenizer));
  AddedTokens added(tokens);
  CKPT_TRY(take_added(tokenizer, added));
  CKPT_TRY(take_decoder(config, added));
  take_named(config, added);
  const uint64_t needed = tokens.empty() ? 0 : tokens.rbegin()->first + 1;
  const uint64_t size = vocab_size == 0 ? needed : vocab_size;
  if (needed > size) {
    return fail_with_hint(
        ErrorCode::kCorrupt, "a tokenizer that belongs to these weights, with --tokenizer DIR",
        "tokenizer.json has token '{}' as number {}; config.json's vocab_size is {}",
        tokens.rbegin()->second.text, needed - 1, size);
  }
  if (size > kMaxTokens) {
    return fail(ErrorCode::kCorrupt, "config.json: vocab_size {}; at most {}", size, kMaxTokens);
  }
  Vocabulary out;
  for (uint64_t i = 0; i < size; ++i) {
    const auto found = tokens.find(i);
    if (found == tokens.end()) {
      out.tokens.push_back(fmt::format("[PAD{}]", i));
      out.types.push_back(static_cast<int32_t>(TokenType::kUnused));
      continue;
    }
    Token& token = found->second;
    const bool spaces = token.type == TokenType::kUserDefined;
    out.tokens.push_back(spaces ? with_spaces(token.text) : std::move(token.text));
    out.types.push_back(static_cast<int32_t>(token.type));
  }
  return out;
}

Result<std::vector<std::string>> read_merges(const Checkpoint& checkpoint,
                                             const JsonValue& tokenizer) {
  const JsonValue* list = known(*known(tokenizer, "model"), "merges");
  std::vector<std::string> out;
  if (list != nullptr && list->is_array()) {
    for (const JsonValue& merge : *list) {
      const auto* text = merge.get_ptr<const std::string*>();
      const bool is_pair =
          merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (text == nullptr && !is_pair) {
        return fail(ErrorCode::kCorrupt, "tokenizer.json: merge {} is neither a text nor a pair",
                    out.size());
      }
      out.push_back(text != nullptr ? *text
                                    : join_pair(merge[0].get_ref<const std::string&>(),
                                                merge[1].get_ref<const std::string&>()));
    }
  }
  if (!out.empty()) return out;
  const Document* document = checkpoint.find_document("merges.txt");
  return document == nullptr ? out : merges_of_text(*document->content);
}

}  // namespace ckpt
