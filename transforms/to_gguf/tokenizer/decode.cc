// What an added token's id is decoded to: byte-level letters become the bytes they stand for.
//
//   Ġ1  ─ letters ─▶  20 31  ─ UTF-8 ─▶  " 1"          é  ─▶  e9  ─▶  U+FFFD
//   日本  ─ not all are letters ─▶  as it is
#include <array>
#include <map>

#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/tokenizer/byte_level_bpe.h"

namespace ckpt {
namespace {

// Bytes of the character that starts `text`, which is UTF-8.
size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return std::min(size, text.size());
}

// Bytes for which the letters of `text` stand; nullopt when one of them is no letter.
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
    const size_t size = character_bytes(text);
    const auto found = kLetters.find(std::string(text.substr(0, size)));
    if (found == kLetters.end()) return std::nullopt;
    out += found->second;
    text.remove_prefix(size);
  }
  return out;
}

// The range in which the second byte of a character lies, by its first (Unicode table 3-7).
struct SecondByte {
  uint8_t low = 0x80, high = 0xBF;
};
SecondByte second_byte(uint8_t lead) {
  if (lead == 0xE0) return {0xA0, 0xBF};
  if (lead == 0xED) return {0x80, 0x9F};
  if (lead == 0xF0) return {0x90, 0xBF};
  if (lead == 0xF4) return {0x80, 0x8F};
  return {};
}

struct Run {
  size_t size;
  bool is_character;
};
// The character at the start of `text`, or the longest run that could have begun one.
Run first_run(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {1, true};
  const size_t size = lead >= 0xC2 && lead < 0xE0   ? 2
                      : lead >= 0xE0 && lead < 0xF0 ? 3
                      : lead >= 0xF0 && lead < 0xF5 ? 4
                                                    : 0;
  if (size == 0) return {1, false};
  const SecondByte second = second_byte(lead);
  for (size_t i = 1; i < size; ++i) {
    const SecondByte range = i == 1 ? second : SecondByte{};
    if (i >= text.size() || at(i) < range.low || at(i) > range.high) return {i, false};
  }
  return {size, true};
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// transformers 4.57 tokenization_utils_base.py clean_up_tokenization.
std::string cleaned_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRows) replace_all(text, from, to);
  return text;
}

Result<std::string> decode(std::string text, const JsonValue& decoder) {
  const std::string* type = text_of(decoder, "type");
  if (type != nullptr && *type == "Fuse") return text;
  if (type != nullptr && *type == "ByteLevel") {
    const auto bytes = bytes_of_letters(text);
    return bytes ? as_utf8(*bytes) : text;
  }
  const JsonValue* list = known(decoder, "decoders");
  if (type == nullptr || *type != "Sequence" || list == nullptr || !list->is_array()) {
    return fail(ErrorCode::kUnsupported,
                "tokenizer.json: added token '{}' is not normalized, and its text passes a decoder "
                "of type {}; known are ByteLevel and Fuse",
                text, type == nullptr ? "unknown" : *type);
  }
  for (const JsonValue& step : *list) {
    CKPT_ASSIGN(text, decode(std::move(text), step));
  }
  return text;
}

}  // namespace

std::string as_utf8(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Run run = first_run(bytes);
    if (run.is_character) {
      out += bytes.substr(0, run.size);
    } else {
      out += "\xef\xbf\xbd";
    }
    bytes.remove_prefix(run.size);
  }
  return out;
}

Result<std::string> decode_added_token(const std::string& text, const JsonValue* decoder,
                                       bool clean_up) {
  std::string out = text;
  if (decoder != nullptr) {
    CKPT_ASSIGN(out, decode(std::move(out), *decoder));
  }
  return clean_up ? cleaned_up(std::move(out)) : out;
}

}  // namespace ckpt
