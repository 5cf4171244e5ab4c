// Checks the tokens of a GGUF: whether they are of the kind that tokenizer.ggml.model declares, and
// whether llama.cpp finds those that the chat template writes.
//
//   llama    <0x00> to <0xFF>, U+2581 for spaces          neighbors join by scores
//   gemma4   the same                                     by merges
//   gpt2     letters that stand for bytes, "Ġ" for 0x20   by merges
//   t5       U+2581 for spaces                            of all splits, that of the highest scores
//
// A byte without a token aborts the process (llama) or is silently dropped (gemma4). Control and
// user-defined tokens are searched for in a text before it is split; any other token must be
// composed of its characters.
// Source: llama.cpp v0.5.0 src/llama-vocab.cpp (load, tokenizer_st_partition, token_to_piece,
// byte_to_token, llm_tokenizer_spm_session, llm_tokenizer_bpe_session, llm_tokenizer_ugm).
#include <algorithm>
#include <set>

#include "checks/gguf/gguf_rules.h"
#include "checks/subject/subject.h"
#include "checks/tokenizer/jinja.h"
#include "core/base/text_index.h"
#include "core/base/utf8.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kTokenTexts = "tokenizer.ggml.tokens";
constexpr std::string_view kPieceSpace = "\xe2\x96\x81";  // U+2581
constexpr std::string_view kLetterSpace = "\xc4\xa0";  // U+0120, in byte-level BPE
constexpr int kNormalType = 1, kUnknownType = 2, kControlType = 3, kUserType = 4, kUnusedType = 5,
              kByteType = 6;

struct GgufTokens {
  const std::vector<std::string>& texts;
  const MetaArray* types;   // null: missing, llama.cpp then treats all as normal
  const MetaArray* merges;  // null: missing
  bool has_bytes;           // tokens in the form of SentencePiece

  int type(size_t id) const {
    const bool is_known = types != nullptr && id < types->count();
    return is_known ? static_cast<int>(number_at(*types, id)) : kNormalType;
  }
};

// Returns "12 tokens, the first 'x', are not ...".
std::string counted_tokens(const Mismatch& found, std::string_view what) {
  return found.count == 1
             ? fmt::format("'{}' is {}", found.first, what)
             : fmt::format("{} tokens, the first '{}', are {}", found.count, found.first, what);
}

std::string byte_name(int byte) { return fmt::format("<0x{:02X}>", byte); }

void check_byte_tokens(const CheckContext& context, const GgufTokens& tokens,
                       const TextIndex& ids) {
  Mismatch missing, untyped;
  const std::string* model = context.on.checkpoint.metadata.find_text("tokenizer.ggml.model");
  const bool stops = *model == "llama";  // llama.cpp then accepts a one-letter token for a byte
  for (int byte = 0; byte < 256; ++byte) {
    const auto id = ids.find(byte_name(byte));
    const bool has_letter = byte < 0x80 && ids.find(std::string(1, static_cast<char>(byte)));
    if (!id && !(stops && has_letter)) missing.add(byte_name(byte));
    if (id && tokens.type(*id) != kByteType) untyped.add(byte_name(byte));
  }
  if (missing.count != 0) {
    context.report(std::string(kTokenTexts),
                   fmt::format("{} of 256 bytes have no token, the first {}; the model is '{}'",
                               missing.count, missing.first, *model),
                   stops ? std::optional(Severity::kUnloaded) : std::nullopt,
                   stops ? "std::out_of_range at the first text with such a byte"
                         : "characters without a token are dropped");
  }
  if (untyped.count != 0 && tokens.types != nullptr) {
    context.report(std::string(kTokenTypes), counted_tokens(untyped, "not of type byte"), {},
                   fmt::format("the text '{}' instead of the byte", untyped.first));
  }
}

// Whether the token consists of letters that represent bytes in byte-level BPE.
bool has_byte_letters(std::string_view text) {
  while (!text.empty()) {
    const auto [size, code, is_valid] = first_character(text);
    const bool is_letter = (code >= 0x21 && code <= 0x7E) || (code >= 0xA1 && code <= 0xAC) ||
                           (code >= 0xAE && code <= 0x143);
    if (!is_valid || !is_letter) return false;
    text.remove_prefix(size);
  }
  return true;
}

void check_spaces(const CheckContext& context, uint64_t of_pieces, uint64_t of_letters) {
  if (of_pieces > of_letters) return;
  context.tell(std::string(kTokenTexts),
               "{} have U+2581, as which spaces are looked up; {} have '{}'", of_pieces, of_letters,
               kLetterSpace);
}

// Decides by most of the tokens: published byte-level BPE vocabularies have some tokens with other
// letters (Command R: 1,403 of 256,000), and those of pieces contain the letter "Ġ".
void check_kind(const CheckContext& context, const GgufTokens& tokens, const TextIndex& ids) {
  uint64_t normal = 0, of_pieces = 0, of_letters = 0;  // of_*: with this kind of space
  Mismatch other;
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    if (tokens.type(id) != kNormalType) continue;
    const std::string& text = tokens.texts[id];
    ++normal;
    of_pieces += text.find(kPieceSpace) != text.npos ? 1 : 0;
    of_letters += text.find(kLetterSpace) != text.npos ? 1 : 0;
    if (!has_byte_letters(text)) other.add(text);
  }
  if (tokens.has_bytes) {
    check_byte_tokens(context, tokens, ids);
    check_spaces(context, of_pieces, of_letters);
  } else if (other.count > 0 && (of_letters <= of_pieces || other.count * 2 >= normal)) {
    context.report(
        std::string(kTokenTexts),
        counted_tokens(other, "not of letters that stand for bytes; the model is 'gpt2'"), {},
        "no text is split into such tokens");
  }
}

// The texts that chat templates write literally.
std::vector<std::string_view> literals_of(const Metadata& metadata) {
  std::vector<std::string_view> out;
  for (const MetaEntry& entry : metadata.entries) {
    const auto* const text = std::get_if<std::string>(&entry.value.value);
    if (text == nullptr || !entry.key.starts_with("tokenizer.chat_template")) continue;
    for (const JinjaToken& token : read_jinja_tokens(*text).tokens) {
      const bool is_literal = token.kind == TokenKind::kData || token.kind == TokenKind::kString;
      if (is_literal) out.push_back(token.text);
    }
  }
  return out;
}

// Tokens of several characters in these literals that llama.cpp does not search for.
std::set<uint32_t> unsearched_tokens(const CheckContext& context, const GgufTokens& tokens,
                                     const TextIndex& ids) {
  constexpr size_t kLongest = 64;
  std::set<uint32_t> out;
  for (const std::string_view literal : literals_of(context.on.checkpoint.metadata)) {
    for (size_t at = 0; at < literal.size(); ++at) {
      const std::string_view rest = literal.substr(at, kLongest);
      for (size_t size = first_character(rest).size_bytes + 1; size <= rest.size(); ++size) {
        const auto id = ids.find(rest.substr(0, size));
        if (id) out.insert(*id);
      }
    }
  }
  std::erase_if(out, [&](uint32_t id) {
    const int type = tokens.type(id);
    return type == kUnknownType || type == kControlType || type == kUserType ||
           has_listed(context.profile, "gguf control tokens", tokens.texts[id], false);
  });
  return out;
}

bool has_two_parts(std::string_view text, const TextIndex& ids) {
  for (size_t cut = 1; cut < text.size(); ++cut) {
    if (ids.find(text.substr(0, cut)) && ids.find(text.substr(cut))) return true;
  }
  return false;
}

void check_template_tokens(const CheckContext& context, const GgufTokens& tokens,
                           const TextIndex& ids) {
  std::set<uint32_t> lost = unsearched_tokens(context, tokens, ids);
  const std::string* model = context.on.checkpoint.metadata.find_text("tokenizer.ggml.model");
  if (*model == "llama") {
    std::erase_if(lost, [&](uint32_t id) { return has_two_parts(tokens.texts[id], ids); });
  } else if (!lost.empty() && tokens.merges != nullptr) {
    for (const std::string& merge : tokens.merges->texts) {
      const size_t space = std::min(merge.find(' ', 1), merge.size());
      const auto id = ids.find(merge.substr(0, space) +
                               (space < merge.size() ? merge.substr(space + 1) : std::string()));
      if (id) lost.erase(*id);
    }
  }
  if (lost.empty()) return;
  const uint32_t first = *lost.begin();
  context.report(
      fmt::format("{}[{}]", kTokenTypes, first),
      fmt::format("'{}' is {}, neither control nor user-defined, and nothing joins it{}; "
                  "the chat template has it",
                  tokens.texts[first], tokens.type(first),
                  lost.size() == 1 ? "" : fmt::format(" ({} such tokens)", lost.size())),
      {}, "the chat's own tokens are split into letters");
}

// Finds template tokens such as "<|im_start|>" whose place has a filler token in the file.
void check_filled_tokens(const CheckContext& context, const GgufTokens& tokens,
                         const TextIndex& ids) {
  size_t filler = 0;
  while (filler < tokens.texts.size() &&
         (tokens.type(filler) != kUnusedType ||
          tokens.texts[filler] != fmt::format("[PAD{}]", filler))) {
    ++filler;
  }
  if (filler == tokens.texts.size()) return;
  for (const std::string_view literal : literals_of(context.on.checkpoint.metadata)) {
    for (size_t at = literal.find("<|"); at != literal.npos; at = literal.find("<|", at + 2)) {
      const size_t end = literal.find("|>", at + 2);
      if (end == literal.npos) break;
      const std::string_view text = literal.substr(at, end + 2 - at);
      if (text.find_first_of(" \n<", 1) != text.npos || ids.find(text)) continue;
      return context.report(
          std::string(kTokenTexts),
          fmt::format("the chat template has '{}', which is not a token; ID {} is "
                      "a filler",
                      text, filler),
          Severity::kWarning, "an added token may be lost");
    }
  }
}

// The replacements of letters, which begin with the size of their table in 4 bytes.
void check_charsmap(const CheckContext& context) {
  const std::string key = "tokenizer.ggml.precompiled_charsmap";
  const MetaValue* value = context.on.checkpoint.metadata.find(key);
  if (value == nullptr) return;
  const auto* bytes = std::get_if<MetaArray>(&value->value);
  const bool are_bytes = bytes != nullptr && (bytes->element == MetaType::kU8 ||
                                              bytes->element == MetaType::kI8);
  constexpr uint64_t kSizeBytes = 4;
  uint64_t table = 0;
  for (uint64_t i = 0; are_bytes && i < std::min(kSizeBytes, bytes->count()); ++i) {
    table |= static_cast<uint64_t>(static_cast<int64_t>(number_at(*bytes, i)) & 0xFF) << (8 * i);
  }
  if (are_bytes && table + kSizeBytes < bytes->count()) return;
  context.report(key,
                 are_bytes ? fmt::format("{} bytes with a table of {}", bytes->count(), table)
                           : std::string("not an array of bytes"),
                 Severity::kUnloaded, "Index out of array bounds in precompiled charsmap");
}

void check_unigram(const CheckContext& context) {
  const Metadata& metadata = context.on.checkpoint.metadata;
  check_charsmap(context);
  if (metadata.find_array(kTokenTypes) == nullptr) {
    context.report(std::string(kTokenTypes), "missing; llama.cpp takes every token for text");
  }
  if (metadata.find_array("tokenizer.ggml.scores") == nullptr) {
    context.report("tokenizer.ggml.scores", "missing; nothing tells which tokens are likely");
  }
  const MetaArray* texts = metadata.find_array(kTokenTexts);
  if (texts == nullptr) return;
  uint64_t of_pieces = 0, of_letters = 0;
  for (const std::string& text : texts->texts) {
    of_pieces += text.find(kPieceSpace) != text.npos ? 1 : 0;
    of_letters += text.find(kLetterSpace) != text.npos ? 1 : 0;
  }
  check_spaces(context, of_pieces, of_letters);
}

}  // namespace

void check_gguf_vocabulary(const CheckContext& context) {
  const Metadata& metadata = context.on.checkpoint.metadata;
  const std::string* model = metadata.find_text("tokenizer.ggml.model");
  if (model != nullptr && *model == "t5") return check_unigram(context);
  const MetaArray* texts = metadata.find_array(kTokenTexts);
  if (model == nullptr || !has_word("llama gemma4 gpt2", *model) || texts == nullptr) return;
  const GgufTokens tokens{texts->texts, metadata.find_array(kTokenTypes),
                          metadata.find_array("tokenizer.ggml.merges"), *model != "gpt2"};
  const TextIndex ids(tokens.texts);
  if (tokens.types == nullptr) {
    context.report(std::string(kTokenTypes), "missing; llama.cpp takes every token for text");
  }
  if (*model == "llama" && metadata.find_array("tokenizer.ggml.scores") == nullptr) {
    context.report("tokenizer.ggml.scores", "missing; nothing tells which tokens join first");
  }
  if (*model != "llama" && tokens.merges != nullptr && tokens.merges->texts.empty()) {
    context.report("tokenizer.ggml.merges", "none; every text is split into single letters");
  }
  check_kind(context, tokens, ids);
  check_template_tokens(context, tokens, ids);
  check_filled_tokens(context, tokens, ids);
}

}  // namespace ckpt
