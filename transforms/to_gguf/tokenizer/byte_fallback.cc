// Tokens of a tokenizer.json whose BPE falls back to bytes: what SentencePiece's models become when
// tokenizer.model is not there (llama.cpp gguf-py/gguf/vocab.py LlamaHfVocab).
//
//   model.vocab             ─▶ -1000, <0x0A>: byte; a special token: control; else normal
//   added tokens behind it  ─▶ -1000, a special token: control; else user-defined
//
// Special are the tokens that tokenizer_config.json names (transformers 5.17
// tokenization_utils_base.py), whatever their entries among the added tokens say. vocab_size
// counts for nothing, so ids behind the last token get no filling.
#include "transforms/to_gguf/tokenizer/byte_fallback.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/model/json_documents.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

constexpr float kScore = -1000.0f;

// Names that a class gives where the configuration is silent.
std::map<std::string, std::string> default_tokens(const JsonValue& config) {
  const std::string* name = text_of(config, "tokenizer_class");
  if (name == nullptr) return {};
  if (name->starts_with("GemmaTokenizer")) {
    return {{"unk_token", "<unk>"},
            {"bos_token", "<bos>"},
            {"eos_token", "<eos>"},
            {"pad_token", "<pad>"},
            {"mask_token", "<mask>"}};
  }
  if (name->starts_with("LlamaTokenizer")) {
    return {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  }
  return {};
}

const std::string* named_text(const JsonValue& entry) {
  return entry.is_object() ? text_of(entry, "content") : entry.get_ptr<const std::string*>();
}

void take_named(const JsonValue& file, std::map<std::string, std::string>& named) {
  for (const auto& [key, entry] : file.items()) {
    if (!key.ends_with("_token")) continue;
    const std::string* text = named_text(entry);
    if (text != nullptr) named[key] = *text;
    if (entry.is_null()) named.erase(key);
  }
  int count = 0;
  for (const char* list : {"additional_special_tokens", "extra_special_tokens"}) {
    const JsonValue* entries = known(file, list);
    if (entries == nullptr || !(entries->is_array() || entries->is_object())) continue;
    for (const JsonValue& entry : *entries) {
      const std::string* text = named_text(entry);
      if (text != nullptr) named[fmt::format("{} {}", list, count++)] = *text;
    }
  }
}

Result<std::set<std::string>> special_texts(const Checkpoint& checkpoint, const JsonValue& config) {
  std::map<std::string, std::string> named = default_tokens(config);
  take_named(config, named);
  if (known(config, "added_tokens_decoder") == nullptr) {  // older versions' other file
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
  const JsonValue* decoder = known(tokenizer, "decoder");
  const std::string* type = model == nullptr ? nullptr : text_of(*model, "type");
  const std::string* steps = decoder == nullptr ? nullptr : text_of(*decoder, "type");
  return type != nullptr && *type == "BPE" && is_truthy(known(*model, "byte_fallback")) &&
         steps != nullptr && *steps == "Sequence";
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
      return fail(ErrorCode::kCorrupt, "tokenizer.json: {} tokens, none of which has id {}",
                  texts.base_count, out.tokens.size());
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

void show_tokens(std::span<const std::string_view> shown, Vocabulary& vocabulary) {
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (std::find(shown.begin(), shown.end(), vocabulary.tokens[i]) != shown.end()) {
      vocabulary.types[i] = static_cast<int32_t>(TokenType::kUserDefined);
    }
  }
}

}  // namespace ckpt
