// Vocabularies of encoders: WordPiece in a tokenizer.json, and unigram pieces.
//
//   WordPiece   un, ##happy, [CLS]     ─▶  ▁un, happy, [CLS]                      model "bert"
//   unigram     <unk> <s> </s> ▁a …    ─▶  <s> <pad> </s> <unk> ▁a …              model "t5"
//
// XLM-R puts four tokens first and shifts the other pieces by one; T5 keeps all as they are. The
// GGUF has as many tokens as config.json declares. Source: llama.cpp conversion/bert.py
// (BertModel.set_vocab, _xlmroberta_set_vocab), conversion/t5.py (T5Model.set_vocab).
#include <algorithm>
#include <array>

#include "core/base/words.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {
namespace {

constexpr std::string_view kWordStart = "\xe2\x96\x81";  // U+2581
constexpr std::string_view kInsideWord = "##";

MetaValue segment_count(const TokenizerOptions& options) {
  return MetaValue::u32(options.segments);
}

Result<Vocabulary> read_word_pieces(const Checkpoint& checkpoint, const JsonValue& tokenizer,
                                    const JsonValue& config, const TokenizerOptions& options) {
  const std::string_view inside =
      text_in(known(tokenizer, "model"), "continuing_subword_prefix");
  if (inside != kInsideWord) {
    return unsupported("tokenizer.json: continuing_subword_prefix is '{}'; known is '{}'", inside,
                       kInsideWord);
  }
  CKPT_ASSIGN(Vocabulary out, read_vocabulary(checkpoint, tokenizer, config, options));
  for (size_t id = 0; id < out.tokens.size(); ++id) {
    std::string& text = out.tokens[id];
    if (out.types[id] == static_cast<int32_t>(TokenType::kControl)) continue;
    if (text.starts_with(kInsideWord)) {
      text.erase(0, kInsideWord.size());
    } else {
      text.insert(0, kWordStart);
    }
  }
  out.model = "bert";
  out.pre = options.pre_name.value_or(std::string(split_words(kWordPieceNames).front()));
  out.before.append(std::string(kSegmentCountKey), segment_count(options));
  return out;
}

struct FrontToken {
  const char* text;
  TokenType type;
};
constexpr std::array<FrontToken, 4> kFrontTokens = {{{"<s>", TokenType::kControl},
                                                     {"<pad>", TokenType::kControl},
                                                     {"</s>", TokenType::kControl},
                                                     {"<unk>", TokenType::kUnknown}}};

// The pieces with those four tokens in front.
Result<Vocabulary> shifted_pieces(const SentencePieceModel& model,
                                  const TokenizerOptions& options) {
  CKPT_ASSIGN(const uint64_t wanted, token_count(model.pieces.size(), options));
  const uint64_t size = std::max<uint64_t>(wanted, model.pieces.size());
  Vocabulary out;
  const auto put = [&](std::string text, float score, TokenType type) {
    out.tokens.push_back(std::move(text));
    out.scores.push_back(score);
    out.types.push_back(static_cast<int32_t>(type));
  };
  for (const FrontToken& token : kFrontTokens) put(token.text, 0, token.type);
  for (uint64_t i = kFrontTokens.size() - 1; i + 1 < size; ++i) {
    if (i >= model.pieces.size()) {
      put(fmt::format("[PAD{}]", i), kPadScore, TokenType::kUnused);
      continue;
    }
    const TextPiece& piece = model.pieces[i];
    const bool is_user = piece.type == PieceType::kUserDefined;
    put(piece.text, piece.score, is_user ? TokenType::kNormal : piece.type);
  }
  return out;
}

Result<Vocabulary> unigram_vocabulary(const Checkpoint& checkpoint,
                                      const SentencePieceModel& model,
                                      const TokenizerOptions& options) {
  const bool is_t5 = options.rules.is_t5;
  CKPT_ASSIGN(Vocabulary out, is_t5 ? numbered_pieces(checkpoint, model, options)
                                    : shifted_pieces(model, options));
  out.model = "t5";
  out.pre = "default";
  const auto say = [&](std::string_view key, MetaValue value) {
    out.behind.append(fmt::format("tokenizer.ggml.{}", key), std::move(value));
  };
  say("add_space_prefix", MetaValue::boolean(model.adds_dummy_prefix));
  if (!is_t5) out.behind.append(std::string(kSegmentCountKey), segment_count(options));
  say("remove_extra_whitespaces", MetaValue::boolean(model.removes_extra_spaces));
  if (!model.character_map.empty()) {
    say("precompiled_charsmap", MetaValue::array(make_byte_array(model.character_map)));
  }
  return out;
}

// The names of the file, of which the first that exists is read.
std::span<const std::string_view> unigram_files(const TokenizerRules& rules) {
  static constexpr std::string_view kOfT5[] = {"tokenizer.model", "spiece.model"};
  static constexpr std::string_view kOfXlmRoberta[] = {kUnigramFile};
  return rules.is_t5 ? std::span(kOfT5) : std::span<const std::string_view>(kOfXlmRoberta);
}

}  // namespace

Result<std::optional<Vocabulary>> read_encoder(const Checkpoint& checkpoint,
                                               const JsonValue& tokenizer, const JsonValue& config,
                                               const TokenizerOptions& options) {
  for (const std::string_view path : unigram_files(options.rules)) {
    const Document* file = checkpoint.find_document(std::string(path));
    if (file == nullptr) continue;
    CKPT_ASSIGN(const SentencePieceModel model, in(file->path, read_sentencepiece(file->text())));
    const bool is_bpe = model.model == PieceModel::kBpe;
    if (is_bpe && options.rules.piece_file != PieceFile::kIgnored) break;  // as other families
    if (model.model != PieceModel::kUnigram) {
      return unsupported("{}: not a unigram model, which this family's class reads", path);
    }
    CKPT_ASSIGN(Vocabulary out, unigram_vocabulary(checkpoint, model, options));
    return std::optional(std::move(out));
  }
  const std::string_view kind = text_in(known(tokenizer, "model"), "type");
  if (kind == "WordPiece") {
    CKPT_ASSIGN(Vocabulary out, read_word_pieces(checkpoint, tokenizer, config, options));
    return std::optional(std::move(out));
  }
  if (kind == "Unigram") {
    const std::string_view wanted = unigram_files(options.rules).back();
    return misuse_hint(fmt::format("{} of the source model, in a folder with --tokenizer", wanted),
                       "tokenizer.json: a Unigram model without {}", wanted);
  }
  return std::optional<Vocabulary>();
}

}  // namespace ckpt
