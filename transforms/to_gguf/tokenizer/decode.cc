// Decodes the id of an added token: byte-level letters become the bytes they represent.
//
//   Ġ1  ─ letters ─▶  20 31  ─ UTF-8 ─▶  " 1"          é  ─▶  e9  ─▶  U+FFFD
//   日本  ─ not all are letters ─▶  unchanged
#include <map>

#include "core/base/utf8.h"
#include "core/base/words.h"
#include "transforms/facts/byte_level_bpe.h"
#include "transforms/to_gguf/tokenizer/added.h"

namespace ckpt {
namespace {

// The bytes that the letters of `text` represent; nullopt if a character is not such a letter.
std::optional<std::string> bytes_of_letters(std::string_view text) {
  static const std::map<std::string, char> kLetters = [] {
    std::map<std::string, char> out;
    for (int byte = 0; byte < 256; ++byte) {
      out[byte_letter(static_cast<uint8_t>(byte))] = static_cast<char>(byte);
    }
    return out;
  }();
  std::string out;
  while (!text.empty()) {
    const size_t size = first_character(text).size_bytes;
    const auto found = kLetters.find(std::string(text.substr(0, size)));
    if (found == kLetters.end()) return std::nullopt;
    out += found->second;
    text.remove_prefix(size);
  }
  return out;
}

// transformers 4.57 tokenization_utils_base.py clean_up_tokenization.
std::string cleaned_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRows) text = replace_all(text, from, to);
  return text;
}

Result<std::string> decode(std::string text, const JsonValue& decoder) {
  const std::string* type = text_of(decoder, "type");
  if (type != nullptr && *type == "Fuse") return text;
  if (type != nullptr && *type == "ByteLevel") {
    const auto bytes = bytes_of_letters(text);
    return bytes ? as_utf8(*bytes) : text;
  }
  if (type != nullptr && *type == "WordPiece") {
    const JsonValue* cleans = known(decoder, "cleanup");
    if (cleans != nullptr && !is_truthy(cleans)) return text;
    return replace_all(cleaned_up(std::move(text)), " do not", " don't");
  }
  const JsonValue* list = known(decoder, "decoders");
  if (type == nullptr || *type != "Sequence" || list == nullptr || !list->is_array()) {
    return unsupported(
        "tokenizer.json: added token '{}' is not normalized, and its text passes a decoder of type "
        "{}; known are ByteLevel, WordPiece and Fuse",
        text, type == nullptr ? "unknown" : *type);
  }
  for (const JsonValue& step : *list) CKPT_SET(text, decode(std::move(text), step));
  return text;
}

}  // namespace

Result<std::string> decode_added_token(const std::string& text, const JsonValue* decoder,
                                       bool clean_up) {
  std::string out = text;
  if (decoder != nullptr) CKPT_SET(out, decode(std::move(out), *decoder));
  return clean_up ? cleaned_up(std::move(out)) : out;
}

}  // namespace ckpt
