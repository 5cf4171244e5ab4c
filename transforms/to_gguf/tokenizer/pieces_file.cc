// The vocabulary of a folder with tokenizer.model. Every id starts as a placeholder; each source
// then overwrites the ids that it names, in this order:
//
//   source                             score           type
//   placeholders "[PAD<i>]"            -10000          unused
//   pieces of tokenizer.model          the piece's     the piece's; normal if user-defined
//   added_tokens.json                  -1000           user-defined
//   added_tokens_decoder               -1000           control or user-defined
//   added tokens of tokenizer.json     -1000           control or user-defined
//
// llama.cpp's converter reads tokenizer.json only for Phi-3. ckpt reads it for all families,
// because transformers 5 writes no other list of added tokens. Source: llama.cpp conversion/base.py
// (_create_vocab_sentencepiece), conversion/phi.py (Phi3MiniModel.set_vocab).
#include "transforms/to_gguf/tokenizer/pieces_file.h"

#include <map>

#include "core/model/json_documents.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/gaps.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

constexpr float kAddedScore = -1000.0f;

class PieceVocabulary {
 public:
  explicit PieceVocabulary(uint64_t size) {
    for (uint64_t i = 0; i < size; ++i) out_.tokens.push_back(fmt::format("[PAD{}]", i));
    out_.scores.resize(size, kPadScore);
    out_.types.resize(size, static_cast<int32_t>(TokenType::kUnused));
  }

  // Returns false if the id does not exist.
  bool put(uint64_t id, std::string text, float score, TokenType type) {
    if (id >= out_.tokens.size()) return false;
    out_.tokens[id] = std::move(text);
    out_.scores[id] = score;
    out_.types[id] = static_cast<int32_t>(type);
    return true;
  }
  // Adds a token of a file next to tokenizer.model; tokens beyond vocab_size are kept separately.
  void add(uint64_t id, const std::string& text, TokenType type) {
    if (!put(id, text, kAddedScore, type)) beyond_[id] = text;
  }
  bool has(uint64_t id, std::string_view text, TokenType type) const {
    return has_text(id, text) && out_.types[id] == static_cast<int32_t>(type);
  }
  // Returns false if the token with this id has another text.
  bool retype(uint64_t id, std::string_view text, TokenType type) {
    if (!has_text(id, text)) return false;
    out_.types[id] = static_cast<int32_t>(type);
    return true;
  }
  const std::map<uint64_t, std::string>& beyond() const { return beyond_; }
  const Vocabulary& vocabulary() const { return out_; }

 private:
  bool has_text(uint64_t id, std::string_view text) const {
    return id < out_.tokens.size() && out_.tokens[id] == text;
  }
  Vocabulary out_;
  std::map<uint64_t, std::string> beyond_;
};

// Reads {text: id}. Fails if two texts have one id, because only their order would decide.
Status add_text_table(const Checkpoint& checkpoint, PieceVocabulary& out) {
  CKPT_ASSIGN(const auto table, read_object(checkpoint, "added_tokens.json"));
  if (!table) return {};
  std::map<uint64_t, std::string> seen;
  for (const auto& [text, number] : table->items()) {
    CKPT_ASSIGN(const uint64_t id, added_id(&number, "added_tokens.json", text));
    const auto [first, is_new] = seen.emplace(id, text);
    if (!is_new) {
      return corrupt("added_tokens.json: '{}' and '{}' have the same id {}", first->second, text,
                     id);
    }
    out.add(id, text, TokenType::kUserDefined);
  }
  return {};
}

// Adds tokens with the converter's spelling and types.
template <class Tokens>
void add_tokens(const Tokens& tokens, bool keeps_texts, PieceVocabulary& out) {
  for (const auto& [id, token] : tokens) {
    const bool is_control = token.special || (!keeps_texts && looks_special(token.text));
    out.add(id, is_control || keeps_texts ? token.text : with_spaces(token.text),
            is_control ? TokenType::kControl : TokenType::kUserDefined);
  }
}

// Replaces tokens that differ from those of tokenizer.json. A text that is not normalized is found
// as it is spelled. User-defined pieces keep their scores, because merges lead to them too.
void follow_tokens(const ListedTokens& tokens, PieceVocabulary& out) {
  for (const auto& [id, token] : tokens) {
    const bool is_control = token.special || looks_special(token.text);
    const TokenType type = is_control ? TokenType::kControl : TokenType::kUserDefined;
    const std::string spaced = is_control ? token.text : with_spaces(token.text);
    if (out.has(id, spaced, type) || out.has(id, token.text, type)) continue;
    const std::string& text = token.normalized ? spaced : token.text;
    if (is_control || !out.retype(id, text, type)) out.add(id, text, type);
  }
}

}  // namespace

Result<Vocabulary> numbered_pieces(const Checkpoint& checkpoint, const SentencePieceModel& model,
                                   const TokenizerOptions& options) {
  CKPT_ASSIGN(const uint64_t size, token_count(model.pieces.size(), options));
  if (model.pieces.size() > size) {
    return corrupt_hint(advice_on_count(model.pieces.size(), options),
                        "the vocabulary has {} pieces; {} is {}", model.pieces.size(),
                        options.vocab_size_of, size);
  }
  PieceVocabulary out(size);
  uint64_t id = 0;
  for (const TextPiece& piece : model.pieces) {
    const bool is_user = piece.type == PieceType::kUserDefined;
    out.put(id++, piece.text, piece.score, is_user ? TokenType::kNormal : piece.type);
  }
  CKPT_TRY(add_text_table(checkpoint, out));
  return out.vocabulary();
}

Result<Vocabulary> read_pieces(const Checkpoint& checkpoint, const JsonValue& config,
                               const TokenizerOptions& options, const Context& context) {
  const Document* file = checkpoint.find_document("tokenizer.model");
  CKPT_CHECK(file != nullptr);
  CKPT_ASSIGN(SentencePieceModel model, in(file->path, read_sentencepiece(file->text())));
  CKPT_ASSIGN(const uint64_t size, token_count(model.pieces.size(), options));
  if (model.model != PieceModel::kBpe) {
    context.note("tokenizer.model is not of BPE; llama.cpp cuts texts as if it were");
  }
  const bool keeps_texts = options.rules.keeps_added_texts;
  PieceVocabulary out(size);
  uint64_t id = 0;
  for (TextPiece& piece : model.pieces) {
    const bool is_user = piece.type == PieceType::kUserDefined;
    TokenType type = is_user ? TokenType::kNormal : piece.type;
    if (options.rules.is_internlm2) {
      if (piece.text.starts_with("[UNUSED")) type = TokenType::kUnused;
      if (piece.text == std::string_view("\0", 1)) piece.text = "\U0001F409";
    }
    if (out.put(id, std::move(piece.text), piece.score, type)) ++id;
  }
  CKPT_TRY(add_text_table(checkpoint, out));
  CKPT_ASSIGN(const auto decoder, decoder_tokens(config));
  add_tokens(decoder, keeps_texts, out);
  CKPT_ASSIGN(const auto tokenizer, read_object(checkpoint, kTokenizerJson));
  CKPT_ASSIGN(const auto listed, listed_tokens(tokenizer ? *tokenizer : JsonValue()));
  if (keeps_texts) add_tokens(listed, keeps_texts, out);
  Vocabulary converters = out.vocabulary();
  if (!keeps_texts) follow_tokens(listed, out);
  if (id < model.pieces.size()) {
    context.note("tokenizer.model has {} pieces; config.json's vocab_size keeps {}",
                 model.pieces.size(), size);
  }
  if (!out.beyond().empty()) {
    context.note("{} added tokens are beyond config.json's vocab_size {}, such as '{}'",
                 out.beyond().size(), size, out.beyond().begin()->second);
  }
  Vocabulary chosen = chosen_vocabulary(out.vocabulary(), std::move(converters), options);
  if (options.rules.is_internlm2) {
    chosen.behind.append(std::string(kSpacePrefixKey), MetaValue::boolean(model.adds_dummy_prefix));
  }
  return chosen;
}

}  // namespace ckpt
