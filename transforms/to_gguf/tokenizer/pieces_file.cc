// Tokens of tokenizer.model, and what other files put on top of them (llama.cpp conversion/base.py
// _create_vocab_sentencepiece, conversion/phi.py Phi3MiniModel.set_vocab).
//
//   [PAD<i>] -10000 unused  ◀─ pieces  ◀─ added_tokens.json  ◀─ added_tokens_decoder
//                                        -1000, user-defined     -1000, control or user-defined
//
// User-defined pieces of the model are NORMAL in the file; only what the other files name becomes
// user-defined.
#include "transforms/to_gguf/tokenizer/pieces_file.h"

#include <map>

#include "core/model/json_documents.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

constexpr float kPadScore = -10000.0f;
constexpr float kAddedScore = -1000.0f;

class PieceVocabulary {
 public:
  explicit PieceVocabulary(uint64_t size) {
    for (uint64_t i = 0; i < size; ++i) out_.tokens.push_back(fmt::format("[PAD{}]", i));
    out_.scores.resize(size, kPadScore);
    out_.types.resize(size, static_cast<int32_t>(TokenType::kUnused));
  }

  // False if the id does not exist.
  bool put(uint64_t id, std::string text, float score, TokenType type) {
    if (id >= out_.tokens.size()) return false;
    out_.tokens[id] = std::move(text);
    out_.scores[id] = score;
    out_.types[id] = static_cast<int32_t>(type);
    return true;
  }
  // A token that a file next to tokenizer.model adds; those beyond vocab_size are counted.
  void add(uint64_t id, const std::string& text, TokenType type) {
    if (!put(id, text, kAddedScore, type)) beyond_.push_back(text);
  }
  const std::vector<std::string>& beyond() const { return beyond_; }
  Vocabulary finish() { return std::move(out_); }

 private:
  Vocabulary out_;
  std::vector<std::string> beyond_;
};

// {text: id}. Two texts of one id would have to be told by their order in the file.
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

struct AddedEntry {
  std::string text;
  bool is_special = false;
};

Result<AddedEntry> added_entry(const JsonValue& entry, const char* place) {
  const std::string* text = text_of(entry, "content");
  if (text == nullptr) return corrupt("{} has a token without content", place);
  return AddedEntry{*text, is_truthy(known(entry, "special"))};
}

void add_entry(uint64_t id, AddedEntry entry, bool keeps_text, PieceVocabulary& out) {
  const bool is_control = entry.is_special || (!keeps_text && looks_special(entry.text));
  if (!is_control && !keeps_text) entry.text = with_spaces(entry.text);
  out.add(id, entry.text, is_control ? TokenType::kControl : TokenType::kUserDefined);
}

Status add_decoder_table(const JsonValue& config, bool keeps_text, PieceVocabulary& out) {
  constexpr const char* kPlace = "tokenizer_config.json: added_tokens_decoder";
  std::map<uint64_t, AddedEntry> entries;  // by number, not in the order of texts
  for (const auto& [key, value] : object_in(config, "added_tokens_decoder").items()) {
    CKPT_ASSIGN(AddedEntry entry, added_entry(value, kPlace));
    const auto id = id_of_key(key);
    if (!id || !entries.emplace(*id, std::move(entry)).second) {
      return corrupt("{} has '{}'; expected ids, each of them once", kPlace, key);
    }
  }
  for (auto& [id, entry] : entries) add_entry(id, std::move(entry), keeps_text, out);
  return {};
}

Status add_json_list(const Checkpoint& checkpoint, PieceVocabulary& out) {
  CKPT_ASSIGN(const auto tokenizer, read_object(checkpoint, "tokenizer.json"));
  if (!tokenizer) return {};
  for (const JsonValue& value : list_in(*tokenizer, "added_tokens")) {
    CKPT_ASSIGN(AddedEntry entry, added_entry(value, "tokenizer.json: added_tokens"));
    CKPT_ASSIGN(const uint64_t id, added_id(member(value, "id"), "tokenizer.json", entry.text));
    add_entry(id, std::move(entry), true, out);
  }
  return {};
}

}  // namespace

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
    const TokenType type = is_user ? TokenType::kNormal : piece.type;
    if (out.put(id, std::move(piece.text), piece.score, type)) ++id;
  }
  CKPT_TRY(add_text_table(checkpoint, out));
  CKPT_TRY(add_decoder_table(config, keeps_texts, out));
  if (keeps_texts) CKPT_TRY(add_json_list(checkpoint, out));
  if (id < model.pieces.size()) {
    context.note("tokenizer.model has {} pieces; config.json's vocab_size keeps {}",
                 model.pieces.size(), size);
  }
  if (!out.beyond().empty()) {
    context.note("{} added tokens are beyond config.json's vocab_size {}, such as '{}'",
                 out.beyond().size(), size, out.beyond().front());
  }
  return out.finish();
}

}  // namespace ckpt
