// Finds the ids of special tokens: tokenizer_config.json names their text, and "added_tokens" of
// tokenizer.json has the id of each text.
#include "models/models.h"

namespace ckpt {

std::optional<uint64_t> added_token_id(const JsonValue& tokenizer_config,
                                       const JsonValue& tokenizer, std::string_view key) {
  const std::string* text = text_of(tokenizer_config, key);
  return text == nullptr ? std::nullopt : id_of_added(tokenizer, *text);
}

std::optional<uint64_t> id_of_added(const JsonValue& tokenizer, std::string_view text) {
  for (const JsonValue& token : list_in(tokenizer, "added_tokens")) {
    const std::string* content = text_of(token, "content");
    const JsonValue* id = known(token, "id");
    if (content != nullptr && *content == text && id != nullptr) return whole(*id);
  }
  return std::nullopt;
}

}  // namespace ckpt
