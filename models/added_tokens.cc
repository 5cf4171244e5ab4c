#include "models/models.h"

namespace ckpt {

std::optional<uint64_t> added_token_id(const JsonValue& tokenizer_config,
                                       const JsonValue& tokenizer, std::string_view key) {
  const std::string* text = text_of(tokenizer_config, key);
  const JsonValue* added = known(tokenizer, "added_tokens");
  if (text == nullptr || added == nullptr || !added->is_array()) return std::nullopt;
  for (const JsonValue& token : *added) {
    const std::string* content = text_of(token, "content");
    const JsonValue* id = known(token, "id");
    if (content != nullptr && *content == *text && id != nullptr) return whole(*id);
  }
  return std::nullopt;
}

}  // namespace ckpt
